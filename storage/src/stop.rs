//! Stops of an entry as they are remembered.

use treewarden_model::outcome::StopResult;
use treewarden_model::time::WallTime;

/// How many stops of one entry are remembered: as many as the hint of SUP-10 looks at.
pub const STOPS_KEPT: usize = 5;

/// Causes kept of one stop's cleanup error, and bytes kept of each message: five stops stay under the 64 KiB of a row.
pub(crate) const CLEANUP_CAUSES_KEPT: usize = 8;
pub(crate) const CLEANUP_MESSAGE_MAX: usize = 1024;

/// One stop, and when it was recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedStop {
    /// How it ended. At most 8 causes and 1 KiB of each message are kept.
    pub result: StopResult,
    /// When, for people.
    pub at: WallTime,
}
