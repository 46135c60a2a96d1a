//! The node's clock.

use std::sync::atomic::{AtomicU64, Ordering};

use treewarden_model::time::{Clock, Timestamp, WallTime};

use crate::system;

/// CLOCK_BOOTTIME to decide by (it counts suspend, SUP-25), the wall clock for people.
#[derive(Debug, Default)]
pub struct SystemClock {
    ahead: AtomicU64,
}

impl SystemClock {
    /// The system's time.
    pub const fn new() -> Self {
        Self {
            ahead: AtomicU64::new(0),
        }
    }

    /// Shifts the deciding clock forward, as a suspend would: for tests of what a suspend does.
    pub fn leap(&self, by: std::time::Duration) {
        self.ahead.fetch_add(
            u64::try_from(by.as_nanos()).unwrap_or(u64::MAX),
            Ordering::SeqCst,
        );
    }

    /// How far the deciding clock is ahead of the system's, in nanoseconds.
    pub(crate) fn ahead(&self) -> u64 {
        self.ahead.load(Ordering::Relaxed)
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp(system::boot_time_nanos().saturating_add(self.ahead()))
    }

    fn wall(&self) -> WallTime {
        WallTime(system::wall_millis())
    }
}
