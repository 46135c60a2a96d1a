//! What the tree shows of each actor beside what ractor knows (interfaces.md §6).
//!
//! Asking every actor costs more than the walk: what there is to show lies here, in an `Arc` that the actor's state holds, so that it is
//! gone when the actor is.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

use ractor::{ActorCell, ActorId, ActorStatus};
use serde_json::{Map, Value};
use treewarden_model::time::WallTime;

use crate::mailbox::lock;
use crate::view::ActorView;

/// Queued and handled messages, and details.
pub(crate) struct Shown {
    pub(crate) queued: u64,
    pub(crate) handled: u64,
    pub(crate) detail: Map<String, Value>,
}

type Show = Box<dyn Fn() -> Shown + Send + Sync>;

/// One actor's entry.
pub(crate) struct Meta {
    pub(crate) name: String,
    pub(crate) kind: &'static str,
    pub(crate) started_at: WallTime,
    pub(crate) restarts: u64,
    pub(crate) show: Show,
}

#[derive(Default)]
pub(crate) struct Metas {
    known: Mutex<HashMap<ActorId, Weak<Meta>>>,
}

impl Metas {
    /// Makes an actor known; it stays so while the answer lives.
    pub(crate) fn enlist(&self, id: ActorId, meta: Meta) -> Arc<Meta> {
        let meta = Arc::new(meta);
        let mut known = lock(&self.known);
        // A killed actor takes no leave: sweep when the table has doubled.
        if known.len() == known.capacity() {
            known.retain(|_, meta| meta.strong_count() > 0);
        }
        known.insert(id, Arc::downgrade(&meta));
        meta
    }

    fn of(&self, id: ActorId) -> Option<Arc<Meta>> {
        lock(&self.known).get(&id).and_then(Weak::upgrade)
    }

    /// The live tree below `actor`, by walking ractor's own links.
    pub(crate) fn view(&self, actor: &ActorCell) -> ActorView {
        let mut children: Vec<ActorView> = actor
            .get_children()
            .iter()
            .map(|child| self.view(child))
            .collect();
        children.sort_by(|a, b| a.name.cmp(&b.name));
        let status = match actor.get_status() {
            ActorStatus::Unstarted | ActorStatus::Starting => "starting",
            ActorStatus::Running | ActorStatus::Upgrading => "running",
            ActorStatus::Draining | ActorStatus::Stopping => "stopping",
            ActorStatus::Stopped => "stopped",
        };
        let id = actor.get_id();
        match self.of(id) {
            Some(meta) => {
                let shown = (meta.show)();
                ActorView {
                    id: id.to_string(),
                    name: meta.name.clone(),
                    kind: meta.kind,
                    status,
                    started_at: meta.started_at,
                    restarts: meta.restarts,
                    queued: shown.queued,
                    handled: shown.handled,
                    detail: shown.detail,
                    children,
                }
            }
            None => ActorView {
                id: id.to_string(),
                name: "ending".to_owned(),
                kind: "unknown",
                status,
                started_at: WallTime(0),
                restarts: 0,
                queued: 0,
                handled: 0,
                detail: Map::new(),
                children,
            },
        }
    }
}
