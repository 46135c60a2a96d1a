//! Who the node is, and numbers that grow.

use std::fmt;

use treewarden_model::id::{NodeId, SessionNumber};

/// The data directory's identity and the number of this start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Identity {
    /// The same for the life of the data directory.
    pub node: NodeId,
    /// Greater at every start; never given twice (SUP-13).
    pub session: SessionNumber,
}

/// Number of a synced group of commands; what the witness outside the database holds (SUP-19).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct GroupNumber(pub u64);

impl GroupNumber {
    /// The next group's.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for GroupNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Why every counter was raised at this opening (SUP-13). Burned numbers are fine, reuse never is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CounterJump {
    /// `launches.log` was missing in a used directory: all counters grew by 1 000 000, and launches that were open are not known.
    LogMissing,
    /// `launches.log` was older than the database: all counters grew by 1 000 000.
    LogBehind,
    /// The end of `launches.log` was cut off (power loss in the middle of an append): all counters grew by the size of one group.
    TornTail,
}

impl fmt::Display for CounterJump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LogMissing => "launches.log was missing",
            Self::LogBehind => "launches.log was older than the database",
            Self::TornTail => "the end of launches.log was torn",
        })
    }
}
