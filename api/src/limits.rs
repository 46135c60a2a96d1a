//! The limits of this room, each named once.

use std::time::Duration;

/// Connections served at once. Bounds descriptors and memory (about 20 KiB each); one more is answered 429 and closed.
pub(crate) const CONNECTIONS: usize = 4096;
/// Longest request body, in bytes: what a plugin's line can carry is no longer.
pub(crate) const BODY_BYTES: usize = 1 << 20;
/// Bytes read and thrown away of a body that is too long, so that a client that writes before it reads sees the answer.
pub(crate) const DISCARDED_BYTES: usize = 16 << 20;
/// Time for the rest of a request's head, which is also how long an idle connection is kept.
pub(crate) const HEAD_TIME: Duration = Duration::from_secs(30);
/// Time for a request's body.
pub(crate) const BODY_TIME: Duration = Duration::from_secs(30);
/// Longest pause of a client in reading its answer.
pub(crate) const WRITE_TIME: Duration = Duration::from_secs(30);
/// Longest request head, in bytes.
pub(crate) const HEAD_BYTES: usize = 64 << 10;
/// Longest `x-request-id` that is honoured, in bytes.
pub(crate) const REQUEST_ID_BYTES: usize = 128;
/// Rows of a list unless the request says otherwise.
pub(crate) const ROWS: usize = 50;
/// Most rows of a list.
pub(crate) const ROWS_MAX: usize = 256;
/// Lines of a log unless the request says otherwise.
pub(crate) const LOG_LINES: usize = 100;
/// Pause after the kernel refused a connection (it has no descriptor left), so that the loop does not spin.
pub(crate) const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
