//! `entries`: supervisor of all entries' actors; applies the configuration.
//!
//! ```text
//! node ─▶ entries ─▶ entry:<name> …
//! reload ──▶ mailbox ──▶ config source ──▶ plan (model) ──▶ machines
//! ```
//!
//! Messages: only [`Look`]. Killed or panicked, `node` starts another, which starts an actor for every cell: the cells are the truth, the
//! actors their hands.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ractor::{Actor, ActorCell, ActorProcessingErr, ActorRef, SupervisionEvent};
use treewarden_model::declaration::{Declaration, Source};
use treewarden_model::name::EntryName;
use treewarden_model::reload;
use treewarden_model::time::Clock as _;

use crate::answers::ReloadReport;
use crate::cell::EntryCell;
use crate::entry::EntryActor;
use crate::hub::{EntriesItem, Hub};
use crate::mailbox::{Look, Taken, lock};
use crate::meta::{Meta, Shown};

static STARTS: AtomicU64 = AtomicU64::new(0);

pub(crate) struct EntriesActor;

pub(crate) struct EntriesState {
    hub: Arc<Hub>,
    _meta: Arc<Meta>,
}

impl Actor for EntriesActor {
    type Msg = Look;
    type State = EntriesState;
    type Arguments = Arc<Hub>;

    async fn pre_start(
        &self,
        myself: ActorRef<Look>,
        hub: Arc<Hub>,
    ) -> Result<EntriesState, ActorProcessingErr> {
        let shown = hub.clone();
        let meta = hub.metas.enlist(
            myself.get_id(),
            Meta {
                name: "entries".to_owned(),
                kind: "entries",
                started_at: hub.clock.wall(),
                restarts: STARTS.fetch_add(1, Ordering::Relaxed),
                show: Box::new(move || {
                    let mut detail = serde_json::Map::new();
                    detail.insert("entries".to_owned(), shown.cells().len().into());
                    Shown {
                        queued: shown.entries_mailbox.queued(),
                        handled: shown.entries_mailbox.handled(),
                        detail,
                    }
                }),
            },
        );
        Ok(EntriesState { hub, _meta: meta })
    }

    async fn post_start(
        &self,
        myself: ActorRef<Look>,
        state: &mut EntriesState,
    ) -> Result<(), ActorProcessingErr> {
        for cell in state.hub.cells() {
            attend(&myself, &state.hub, cell).await;
        }
        state.hub.entries_mailbox.attach(myself);
        Ok(())
    }

    async fn handle(
        &self,
        myself: ActorRef<Look>,
        _: Look,
        state: &mut EntriesState,
    ) -> Result<(), ActorProcessingErr> {
        state.hub.entries_mailbox.begin();
        while let Some(item) = state.hub.entries_mailbox.take() {
            match item {
                Taken::Item(EntriesItem::Attend(cell)) => attend(&myself, &state.hub, cell).await,
                Taken::Item(EntriesItem::Apply(loaded)) => {
                    let loaded = lock(&loaded).take();
                    if let Some(loaded) = loaded {
                        loaded
                            .reply
                            .send(apply(&state.hub, &loaded.declarations))
                            .ok();
                    }
                }
                Taken::GivenUp(_) => {
                    tracing::error!("A step of the entries' supervisor was given up")
                }
            }
            state.hub.entries_mailbox.done();
        }
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        myself: ActorRef<Look>,
        event: SupervisionEvent,
        state: &mut EntriesState,
    ) -> Result<(), ActorProcessingErr> {
        if let SupervisionEvent::ActorFailed(child, error) = &event {
            tracing::error!(child = %child.get_id(), error = %error, "An entry's actor failed and is replaced");
        }
        if matches!(
            event,
            SupervisionEvent::ActorFailed(..) | SupervisionEvent::ActorTerminated(..)
        ) {
            for cell in state.hub.cells() {
                attend(&myself, &state.hub, cell).await;
            }
        }
        Ok(())
    }
}

/// Sees that an entry has a living actor. Repeating it changes nothing.
async fn attend(myself: &ActorRef<Look>, hub: &Arc<Hub>, cell: Arc<EntryCell>) {
    if cell.mailbox.is_attended_by(myself.get_id()).await {
        return;
    }
    let supervisor: ActorCell = myself.get_cell();
    match EntryActor::spawn_linked(None, EntryActor, (hub.clone(), cell.clone()), supervisor).await
    {
        // Attached here, not by itself: the next look at this entry must see that it has its actor.
        Ok((actor, _)) => cell.mailbox.attach(actor),
        Err(error) => {
            tracing::error!(entry = %cell.name, error = %error, "An entry's actor could not be started")
        }
    }
}

/// Makes the running set follow what was read.
fn apply(hub: &Arc<Hub>, newer: &BTreeMap<EntryName, Declaration>) -> ReloadReport {
    let older: BTreeMap<_, _> = hub
        .cells()
        .into_iter()
        .filter(|cell| !hub.is_removing(cell))
        .map(|cell| cell.declared())
        .filter(|declaration| declaration.source == Source::File)
        .map(|declaration| (declaration.name.clone(), (*declaration).clone()))
        .collect();
    let plan = reload::plan(&older, newer);
    hub.apply(&plan, newer);
    tracing::info!(
        started = plan.started.len(),
        stopped = plan.stopped.len(),
        replaced = plan.replaced.len(),
        restarted = plan.restarted.len(),
        unchanged = plan.unchanged.len(),
        "The configuration was reloaded"
    );
    ReloadReport {
        started: plan.started,
        stopped: plan.stopped,
        replaced: plan.replaced,
        restarted: plan.restarted,
        unchanged: plan.unchanged,
    }
}
