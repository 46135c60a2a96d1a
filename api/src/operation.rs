//! Operations: what a token may be allowed to do.

use std::fmt;

use treewarden_actors::answers::Principal;

/// One operation. Having one gives no other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Operation {
    /// See entries, their status and logs.
    EntriesView,
    /// Start, stop, restart, kill and reset entries; reload the file.
    EntriesManage,
    /// Call services of entries.
    EntriesCall,
    /// See the node's version, limits and warnings.
    NodeView,
    /// See the actor tree.
    DebugActorsView,
    /// Bring about faults, in builds for tests.
    #[cfg(feature = "faults")]
    DebugFaults,
}

impl Operation {
    /// Its name, as tokens hold it.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::EntriesView => "entries.view",
            Self::EntriesManage => "entries.manage",
            Self::EntriesCall => "entries.call",
            Self::NodeView => "node.view",
            Self::DebugActorsView => "debug.actors.view",
            #[cfg(feature = "faults")]
            Self::DebugFaults => "debug.faults",
        }
    }

    /// Whether this one may be done by `principal`.
    pub(crate) fn allowed_to(self, principal: &Principal) -> bool {
        principal
            .operations
            .as_ref()
            .is_none_or(|all| all.iter().any(|one| one == self.as_str()))
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
