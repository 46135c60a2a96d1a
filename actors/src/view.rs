//! The actor tree as it is shown (interfaces.md §6).

use serde_json::{Map, Value};
use treewarden_model::time::WallTime;

/// One live actor with its children.
#[derive(Debug, Clone)]
pub struct ActorView {
    /// Its id, unique in this start of the node.
    pub id: String,
    /// Its name, such as `entry:ledger`.
    pub name: String,
    /// Its kind, such as `entry`.
    pub kind: &'static str,
    /// `starting`, `running`, `stopping` or `stopped`.
    pub status: &'static str,
    /// When this incarnation started.
    pub started_at: WallTime,
    /// How often its supervisor replaced it.
    pub restarts: u64,
    /// Messages sent to it that it has not handled.
    pub queued: u64,
    /// Messages it has handled.
    pub handled: u64,
    /// What its kind has to say.
    pub detail: Map<String, Value>,
    /// Its children, by name.
    pub children: Vec<ActorView>,
}

impl ActorView {
    /// What there is to see before the root lives.
    pub(crate) fn starting(since: WallTime) -> Self {
        Self {
            id: "0".to_owned(),
            name: "node".to_owned(),
            kind: "node",
            status: "starting",
            started_at: since,
            restarts: 0,
            queued: 0,
            handled: 0,
            detail: Map::new(),
            children: Vec::new(),
        }
    }

    /// The actor with this id, in the tree below and including `self`.
    pub fn find(&self, id: &str) -> Option<&Self> {
        if self.id == id {
            Some(self)
        } else {
            self.children.iter().find_map(|child| child.find(id))
        }
    }
}
