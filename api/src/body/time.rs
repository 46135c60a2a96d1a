//! Moments as RFC 3339 in UTC, with milliseconds.

use std::fmt;
use std::time::{Duration, UNIX_EPOCH};

use serde::{Serialize, Serializer};
use treewarden_model::time::WallTime;

/// The last millisecond of the year 9999, where RFC 3339 ends.
const LAST: u64 = 253_402_300_799_999;

/// A moment, written as `2026-01-31T10:20:30.123Z`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Moment(pub(crate) WallTime);

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let since = Duration::from_millis(self.0.0.min(LAST));
        // Bounded above, so the sum exists and the formatter accepts it.
        humantime::format_rfc3339_millis(UNIX_EPOCH + since).fmt(f)
    }
}

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
