//! `entry:<name>`: carries out what the machines say about one entry.
//!
//! ```text
//! verbs, timers, instance ──▶ mailbox ──▶ supervisor's machines ──▶ effects (of this entry and others, each to its own mailbox)
//!                                                                     │
//!                                       launch · stop · persist · answer · wake
//! ```
//!
//! Messages: only [`Look`]; what there is to do lies in the cell's mailbox. Killed or panicked, its supervisor starts another on the same
//! cell: it goes on with the next item, and sees that the launch has its actor again.

mod launching;
mod persisting;

pub(crate) use launching::dice;
pub(crate) use persisting::Wishes;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use ractor::{Actor, ActorCell, ActorProcessingErr, ActorRef, SupervisionEvent};
use treewarden_model::entry::{Effect, Event};
use treewarden_model::launch;
use treewarden_model::time::Clock as _;

use crate::cell::{EntryCell, EntryItem, LaunchCell};
use crate::hub::Hub;
use crate::instance::InstanceActor;
use crate::mailbox::{Look, Taken, lock};
use crate::meta::{Meta, Shown};

/// Items carried out before other actors get their turn.
const ITEMS_A_TURN: usize = 64;

pub(crate) struct EntryActor;

pub(crate) struct EntryActorState {
    hub: Arc<Hub>,
    cell: Arc<EntryCell>,
    _meta: Arc<Meta>,
}

impl Actor for EntryActor {
    type Msg = Look;
    type State = EntryActorState;
    type Arguments = (Arc<Hub>, Arc<EntryCell>);

    async fn pre_start(
        &self,
        myself: ActorRef<Look>,
        (hub, cell): Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        let starts = cell.actor_starts.fetch_add(1, Ordering::SeqCst);
        let meta = hub.metas.enlist(
            myself.get_id(),
            Meta {
                name: format!("entry:{}", cell.name),
                kind: "entry",
                started_at: hub.clock.wall(),
                restarts: starts,
                show: shown(hub.clone(), cell.clone()),
            },
        );
        Ok(EntryActorState {
            hub,
            cell,
            _meta: meta,
        })
    }

    async fn handle(
        &self,
        myself: ActorRef<Look>,
        _: Look,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        state.cell.mailbox.begin();
        let mut removed = false;
        for _ in 0..ITEMS_A_TURN {
            match state.cell.mailbox.take() {
                Some(Taken::Item(EntryItem::Event(event))) => {
                    state.hub.step(&state.cell.name, event)
                }
                Some(Taken::Item(EntryItem::Effect(effect))) => {
                    removed |= carry_out(&state.hub, &state.cell, effect)
                }
                Some(Taken::GivenUp(item)) => give_up(&state.cell, &item),
                None => break,
            }
            state.cell.mailbox.done();
        }
        if removed {
            state.hub.forget(&state.cell);
            while let Some(item) = state.cell.mailbox.take() {
                if let Taken::Item(EntryItem::Effect(effect)) = item {
                    carry_out(&state.hub, &state.cell, effect);
                }
                state.cell.mailbox.done();
            }
            state.hub.refuse_all(&state.cell);
            myself.stop(None);
            return Ok(());
        }
        if state.cell.mailbox.queued() > 0 {
            state.cell.mailbox.tell();
        }
        attend(&myself, state).await;
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        myself: ActorRef<Look>,
        event: SupervisionEvent,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        match event {
            SupervisionEvent::ActorFailed(child, error) => {
                tracing::error!(entry = %state.cell.name, child = %child.get_id(), error = %error, "An instance's actor failed and is replaced");
                attend(&myself, state).await;
            }
            SupervisionEvent::ActorTerminated(..) => attend(&myself, state).await,
            _ => {}
        }
        Ok(())
    }
}

/// Sees that the launch, if there is one, has a living actor. Repeating it changes nothing.
async fn attend(myself: &ActorRef<Look>, state: &EntryActorState) {
    let Some(launch) = state.cell.launch() else {
        return;
    };
    if launch.ended() && launch.mailbox.queued() == 0 {
        return;
    }
    // Boxed: otherwise every idle entry's actor would hold the 1.6 kB that starting another takes for a moment.
    Box::pin(attend_launch(myself, state, launch)).await;
}

async fn attend_launch(myself: &ActorRef<Look>, state: &EntryActorState, launch: Arc<LaunchCell>) {
    if launch.mailbox.is_attended_by(myself.get_id()).await {
        return;
    }
    let supervisor: ActorCell = myself.get_cell();
    match InstanceActor::spawn_linked(
        None,
        InstanceActor,
        (state.hub.clone(), launch.clone()),
        supervisor,
    )
    .await
    {
        // Attached here, not by itself: the next look at this launch must see that it has its actor.
        Ok((actor, _)) => launch.mailbox.attach(actor),
        Err(error) => {
            tracing::error!(entry = %state.cell.name, error = %error, "An instance's actor could not be started");
            state.cell.mailbox.tell();
        }
    }
}

fn shown(hub: Arc<Hub>, cell: Arc<EntryCell>) -> Box<dyn Fn() -> Shown + Send + Sync> {
    Box::new(move || {
        let mut detail = serde_json::Map::new();
        if let Some(status) = hub.status(&cell) {
            detail.insert("state".to_owned(), status.state.as_str().into());
            detail.insert("reason".to_owned(), status.reason.into());
            detail.insert("restarts".to_owned(), status.restarts.into());
        }
        Shown {
            queued: cell.mailbox.queued(),
            handled: cell.mailbox.handled(),
            detail,
        }
    })
}

/// An item that panics whenever it is tried.
fn give_up(cell: &EntryCell, item: &EntryItem) {
    tracing::error!(entry = %cell.name, item = ?item, "A step of an entry panicked again and again and is given up");
    if matches!(item, EntryItem::Effect(Effect::Launch)) {
        cell.post(Event::NeverRan {
            reason: "a fault of the node itself".to_owned(),
            dice: dice(),
        });
    }
}

/// Carries out one effect, without waiting for anything. True: nothing of the entry is left.
fn carry_out(hub: &Arc<Hub>, cell: &Arc<EntryCell>, effect: Effect) -> bool {
    match effect {
        Effect::Launch => launching::launch(hub, cell),
        Effect::StopLaunch(cause) => {
            if let Some(launch) = cell.launch() {
                launch.post(launch::Event::Stop {
                    cause,
                    graceful: launch.declaration.shutdown_timeout,
                });
            }
        }
        Effect::KillLaunch(cause) => {
            if let Some(launch) = cell.launch() {
                launch.post(launch::Event::Kill { cause });
            }
        }
        Effect::Persist(desired) => persisting::want(hub, cell, desired),
        Effect::Answer(ask, answer) => hub.answer(ask, answer),
        Effect::WakeAt(at) => {
            let cell = cell.clone();
            hub.timers.wake_at(at, move || cell.post(Event::Tick));
        }
        Effect::Unblocked(result) => tracing::info!(
            entry = %cell.name, launch = result.launch.get(), outcome = result.ending.outcome.as_str(),
            "The exit that was not confirmed is confirmed now; the entry is no longer blocked"
        ),
        Effect::Removed => {
            persisting::forget(hub, cell);
            *lock(&cell.launch) = None;
            return true;
        }
    }
    false
}
