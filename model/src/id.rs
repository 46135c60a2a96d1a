//! Numbers and ids of what runs: launches, generations, instances, nodes.

use std::fmt;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Number of one launch of an entry; grows with every launch and is kept on disk (SUP-13).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LaunchNumber(u64);

impl LaunchNumber {
    /// What an entry that never ran has as its last launch. No launch carries it.
    pub const NONE: Self = Self(0);

    /// The number as stored or sent.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// A number read back from disk or a message.
    pub const fn from_stored(number: u64) -> Self {
        Self(number)
    }

    /// The next launch's number. Saturates: 2^64 launches do not happen, and repeating one is worse than stopping.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for LaunchNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Fencing token for systems outside the node: a runner's counter; fixed for other placements (SUP-13, SUP-14).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Generation(u64);

impl Generation {
    /// A host plugin's, or a plugin's that runs outside any node.
    pub const HOST: Self = Self(0);
    /// Every local process's and worker's.
    pub const LOCAL: Self = Self(1);

    /// The number as sent.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What an entry runs as.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Instance {
    /// A new UUID for each local launch.
    pub id: String,
    /// Always [`Generation::LOCAL`] for a local launch.
    pub generation: Generation,
}

impl Instance {
    /// The identity of a local launch.
    pub fn local(id: Uuid) -> Self {
        Self {
            id: id.to_string(),
            generation: Generation::LOCAL,
        }
    }
}

/// Identity of a node's data directory; outlives restarts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NodeId(pub Uuid);

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Number of a start of the node; grows with each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SessionNumber(pub u64);

/// Number of a launch among all launches of the node, whatever the entry; the mark in the process table is made of it (SUP-32).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LaunchOrdinal(pub u64);

impl LaunchOrdinal {
    /// The next one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}
