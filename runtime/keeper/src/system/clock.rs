//! The one clock of keeper and shim.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// A moment of the monotonic clock, as time since an arbitrary start. It stands still while the machine is suspended,
/// which only lengthens a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(Duration);

impl Moment {
    /// The present moment.
    pub(crate) fn now() -> Self {
        let time = clock_gettime(ClockId::Monotonic);
        let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
        let nanoseconds = u32::try_from(time.tv_nsec).unwrap_or_default();
        Self(Duration::new(seconds, nanoseconds))
    }

    /// The moment that much later.
    pub(crate) fn after(self, wait: Duration) -> Self {
        Self(self.0.saturating_add(wait))
    }

    /// How long from `now` to this moment; zero if it has passed.
    pub(crate) fn until(self, now: Self) -> Duration {
        self.0.saturating_sub(now.0)
    }
}
