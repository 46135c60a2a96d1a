//! How a store is opened, and its bounds.

use std::time::Duration;

/// Free space that is kept in reserve unless configured otherwise (`node.storage_floor`, SUP-38), in bytes.
pub const STORAGE_FLOOR: u64 = 64 * 1024 * 1024;

/// Options of [`crate::open()`].
#[derive(Debug, Clone)]
pub struct OpenOptions {
    /// Bytes that must stay free for launches and new rows to be accepted. Default 64 MiB.
    pub storage_floor: u64,
    /// How long the database may take to open. Default 60 seconds: a million rows take up to 2.
    pub open_limit: Duration,
    /// Memory that the database may use as a cache, in bytes; it uses about twice as much. Default 32 MiB.
    pub cache: u64,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            storage_floor: STORAGE_FLOOR,
            open_limit: Duration::from_secs(60),
            cache: 32 * 1024 * 1024,
        }
    }
}

/// Commands decided together. Groups of more gain nothing and make everyone wait longer.
pub(crate) const GROUP_COMMANDS_MAX: usize = 64;

/// Commands that may wait for the writer. Beyond it callers wait for a place.
pub(crate) const QUEUE_MAX: usize = 1024;

/// How old the witness may get while groups are being synced (SUP-19).
pub(crate) const WITNESS_INTERVAL: Duration = Duration::from_secs(1);

/// Size at which `launches.log` is compacted, in bytes.
pub(crate) const LOG_COMPACTION: u64 = 1024 * 1024;

/// How much every counter grows when the log can't be trusted to hold the newest number (SUP-13).
pub(crate) const COUNTER_JUMP: u64 = 1_000_000;
