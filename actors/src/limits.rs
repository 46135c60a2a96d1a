//! The limits of this room, each named once (CMP-49).

use std::time::Duration;

/// `start` and `restart` are answered after this even when the entry does not serve yet (interfaces.md §3).
pub const START_ANSWER: Duration = Duration::from_secs(10);
/// Callers that may wait on one entry.
pub const WAITING_PER_ENTRY: usize = 256;
/// Time a call has unless it says otherwise.
pub const CALL_TIMEOUT: Duration = Duration::from_secs(10);
/// Longest time a call may ask for.
pub const CALL_TIMEOUT_MAX: Duration = Duration::from_secs(600);
/// Lines kept of each entry's log.
pub const LOG_LINES_KEPT: usize = 500;
/// Bytes kept of each entry's log.
pub const LOG_BYTES_KEPT: usize = 256 * 1024;
/// Lines of the log shown in the status.
pub const STATUS_LINES: usize = 10;
