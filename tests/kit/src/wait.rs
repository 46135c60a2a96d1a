//! Waiting with a bound, and the clock that plugins trace with.

use std::time::Duration;

/// How often a condition is looked at.
const POLL: Duration = Duration::from_millis(5);

/// Nanoseconds of CLOCK_BOOTTIME.
pub fn boottime() -> i64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

/// Measures how long something took.
#[derive(Debug, Clone, Copy)]
pub struct Stopwatch(i64);

impl Stopwatch {
    /// Starts now.
    #[must_use]
    pub fn start() -> Self {
        Self(boottime())
    }

    /// Time since the start.
    #[must_use]
    pub fn elapsed(self) -> Duration {
        Duration::from_nanos(u64::try_from(boottime() - self.0).unwrap_or(0))
    }
}

/// Looks until there is something, and gives it.
///
/// # Panics
/// Nothing within the bound.
#[track_caller]
pub fn wait_for<T>(what: &str, bound: Duration, mut look: impl FnMut() -> Option<T>) -> T {
    let watch = Stopwatch::start();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(watch.elapsed() < bound, "waited {bound:?} in vain: {what}");
        std::thread::sleep(POLL);
    }
}

/// Looks until a condition holds.
///
/// # Panics
/// It does not within the bound.
#[track_caller]
pub fn wait_until(what: &str, bound: Duration, mut holds: impl FnMut() -> bool) {
    wait_for(what, bound, || holds().then_some(()));
}
