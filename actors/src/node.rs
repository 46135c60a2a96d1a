//! `node`: the root of the tree.
//!
//! ```text
//! node ─┬─ store
//!       ├─ entries ── entry:<name> ── instance:<id>
//!       └─ edge
//! ```
//!
//! Messages: only [`Look`], which makes it see that its three children live. A child that dies is started again at once; nothing durable
//! is theirs to lose.

mod ending;
mod start;

use std::sync::Arc;

use ractor::{Actor, ActorCell, ActorProcessingErr, ActorRef, ActorStatus, SupervisionEvent};
use treewarden_model::time::Clock as _;

use crate::edge::{EdgeActor, EdgeParts};
use crate::entries::EntriesActor;
use crate::hub::Hub;
use crate::mailbox::Look;
use crate::meta::{Meta, Shown};
use crate::store::StoreActor;

pub use start::{NodeParts, RunningNode, StartError};

/// Wait before a child that could not be started is tried again.
const LOOK_AGAIN: std::time::Duration = std::time::Duration::from_secs(1);

pub(crate) struct NodeActor;

pub(crate) struct NodeState {
    hub: Arc<Hub>,
    edge: EdgeParts,
    children: Children,
    _meta: Arc<Meta>,
}

#[derive(Default)]
struct Children {
    store: Option<ActorCell>,
    entries: Option<ActorCell>,
    edge: Option<ActorCell>,
}

fn lives(child: Option<&ActorCell>) -> bool {
    child.is_some_and(|child| {
        !matches!(
            child.get_status(),
            ActorStatus::Stopped | ActorStatus::Stopping
        )
    })
}

impl Actor for NodeActor {
    type Msg = Look;
    type State = NodeState;
    type Arguments = EdgeParts;

    async fn pre_start(
        &self,
        myself: ActorRef<Look>,
        edge: EdgeParts,
    ) -> Result<NodeState, ActorProcessingErr> {
        let hub = edge.hub.clone();
        let shown = hub.clone();
        let meta = hub.metas.enlist(
            myself.get_id(),
            Meta {
                name: "node".to_owned(),
                kind: "node",
                started_at: hub.clock.wall(),
                restarts: 0,
                show: Box::new(move || {
                    let mut detail = serde_json::Map::new();
                    detail.insert("node".to_owned(), shown.node.to_string().into());
                    detail.insert("session".to_owned(), shown.session.0.into());
                    Shown {
                        queued: 0,
                        handled: 0,
                        detail,
                    }
                }),
            },
        );
        Ok(NodeState {
            hub,
            edge,
            children: Children::default(),
            _meta: meta,
        })
    }

    async fn post_start(
        &self,
        myself: ActorRef<Look>,
        state: &mut NodeState,
    ) -> Result<(), ActorProcessingErr> {
        attend(&myself, state).await;
        Ok(())
    }

    async fn handle(
        &self,
        myself: ActorRef<Look>,
        _: Look,
        state: &mut NodeState,
    ) -> Result<(), ActorProcessingErr> {
        attend(&myself, state).await;
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        myself: ActorRef<Look>,
        event: SupervisionEvent,
        state: &mut NodeState,
    ) -> Result<(), ActorProcessingErr> {
        if let SupervisionEvent::ActorFailed(child, error) = &event {
            tracing::error!(child = %child.get_id(), error = %error, "An actor failed and is replaced");
        }
        if matches!(
            event,
            SupervisionEvent::ActorFailed(..) | SupervisionEvent::ActorTerminated(..)
        ) {
            attend(&myself, state).await;
        }
        Ok(())
    }
}

/// Sees that the children live. Repeating it changes nothing.
async fn attend(myself: &ActorRef<Look>, state: &mut NodeState) {
    let (hub, supervisor) = (&state.hub, myself.get_cell());
    if *hub.edge_phase.borrow() == crate::EdgePhase::Closed {
        return;
    }
    let children = &mut state.children;
    let mut missing = false;
    if !lives(children.store.as_ref()) {
        let spawned = StoreActor::spawn_linked(None, StoreActor, hub.clone(), supervisor.clone());
        children.store = started("store", spawned.await, &mut missing);
    }
    if !lives(children.entries.as_ref()) {
        let spawned =
            EntriesActor::spawn_linked(None, EntriesActor, hub.clone(), supervisor.clone());
        children.entries = started("entries", spawned.await, &mut missing);
    }
    if !lives(children.edge.as_ref()) {
        let spawned = EdgeActor::spawn_linked(None, EdgeActor, state.edge.clone(), supervisor);
        children.edge = started("edge", spawned.await, &mut missing);
    }
    if missing {
        let again = myself.clone();
        hub.timers.wake_at(hub.now().plus(LOOK_AGAIN), move || {
            again.cast(Look).ok();
        });
    }
}

/// The child that was started; one that could not be is tried again later.
fn started(
    kind: &str,
    spawned: Result<(ActorRef<Look>, ractor::concurrency::JoinHandle<()>), ractor::SpawnErr>,
    missing: &mut bool,
) -> Option<ActorCell> {
    match spawned {
        Ok((actor, _)) => Some(actor.get_cell()),
        Err(error) => {
            tracing::error!(kind, error = %error, "An actor could not be started and is tried again");
            *missing = true;
            None
        }
    }
}
