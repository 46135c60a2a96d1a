//! What is recorded of a launch before its process may run.

use std::fmt;

use treewarden_model::id::{Instance, LaunchNumber, LaunchOrdinal, SessionNumber};
use treewarden_model::name::EntryName;
use treewarden_model::time::WallTime;
use uuid::Uuid;

/// Names one launch: an entry and its launch number.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LaunchRecordKey {
    /// The entry that was launched.
    pub entry: EntryName,
    /// Which of its launches.
    pub launch: LaunchNumber,
}

impl fmt::Display for LaunchRecordKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "launch {} of {}", self.launch, self.entry)
    }
}

/// One launch with the identity of its process, as it is kept until the launch's end is recorded (SUP-17, SUP-18).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LaunchRecord {
    /// The entry that is launched.
    pub entry: EntryName,
    /// Which of its launches; grows (SUP-13).
    pub launch: LaunchNumber,
    /// Its number among all launches of the node.
    pub ordinal: LaunchOrdinal,
    /// What it runs as.
    pub instance: Instance,
    /// Process id of the leader. Means something only together with `start_time` and `boot_id`.
    pub pid: u32,
    /// When the kernel started the leader, in clock ticks since boot (field 22 of `/proc/PID/stat`).
    pub start_time: u64,
    /// Which boot of the machine `pid` and `start_time` belong to.
    pub boot_id: Uuid,
    /// Which start of the node launched it.
    pub session: SessionNumber,
    /// When, for people.
    pub recorded_at: WallTime,
}

impl LaunchRecord {
    /// The key that its end is recorded under.
    pub fn key(&self) -> LaunchRecordKey {
        LaunchRecordKey {
            entry: self.entry.clone(),
            launch: self.launch,
        }
    }
}
