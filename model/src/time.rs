//! Time as the rules see it. Reading it is the shell's business, behind [`Clock`].

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A moment on a clock that never steps back and counts suspend (CLOCK_BOOTTIME), in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// The moment `after` later.
    #[must_use]
    pub fn plus(self, after: Duration) -> Self {
        Self(
            self.0
                .saturating_add(u64::try_from(after.as_nanos()).unwrap_or(u64::MAX)),
        )
    }

    /// How long ago `earlier` was; zero if it is later.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

/// Wall time in milliseconds since 1970 (UTC): shown to people and stored, never used to decide.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct WallTime(pub u64);

impl WallTime {
    /// The moment `after` later.
    #[must_use]
    pub fn plus(self, after: Duration) -> Self {
        Self(
            self.0
                .saturating_add(u64::try_from(after.as_millis()).unwrap_or(u64::MAX)),
        )
    }
}

/// Where time comes from. The node has one; tests may shift it.
pub trait Clock: Send + Sync + std::fmt::Debug {
    /// The present on the clock that decides.
    fn now(&self) -> Timestamp;
    /// The present on the clock that people read.
    fn wall(&self) -> WallTime;
}
