//! A fence for a system outside the node.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use treewarden_protocol::Generation;

/// Remembers the greatest generation seen of one instance and refuses smaller ones (SUP-16).
///
/// It belongs into the *outside system*, where the writes arrive: a check on the plugin's own side proves nothing, since an old
/// process may be slow rather than gone. The outside system must keep [`greatest`](Self::greatest) as durably as what it
/// guards, and admit and write in one step of its own. A fence undoes no write already made, and makes no call exactly-once.
/// Generations of different instances, or of one instance on different runners, can't be compared: one fence each.
///
/// ```
/// use treewarden_sdk::{Fence, Generation};
/// let fence = Fence::starting_at(Generation::new(6));
/// assert!(fence.admit(Generation::new(7)).is_ok());
/// assert!(fence.admit(Generation::new(7)).is_ok());
/// assert!(fence.admit(Generation::new(6)).is_err());
/// ```
#[derive(Debug, Default)]
pub struct Fence(AtomicU64);

/// A generation smaller than one already seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StaleGeneration {
    /// What came.
    pub offered: Generation,
    /// What had been seen.
    pub greatest: Generation,
}

impl fmt::Display for StaleGeneration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "generation {} is stale, {} has been seen",
            self.offered, self.greatest
        )
    }
}

impl std::error::Error for StaleGeneration {}

impl Fence {
    /// A fence that has seen nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// A fence that continues where one that was kept left off.
    #[must_use]
    pub const fn starting_at(greatest: Generation) -> Self {
        Self(AtomicU64::new(greatest.get()))
    }

    /// Admits a generation at least as great as every earlier one.
    ///
    /// # Errors
    ///
    /// [`StaleGeneration`]; nothing is changed.
    pub fn admit(&self, offered: Generation) -> Result<(), StaleGeneration> {
        let greatest = Generation::new(self.0.fetch_max(offered.get(), Ordering::SeqCst));
        if offered < greatest {
            Err(StaleGeneration { offered, greatest })
        } else {
            Ok(())
        }
    }

    /// The greatest generation admitted.
    #[must_use]
    pub fn greatest(&self) -> Generation {
        Generation::new(self.0.load(Ordering::SeqCst))
    }
}

#[cfg(test)]
mod tests {
    use super::{Fence, Generation};

    /// SUP-16
    #[test]
    fn smaller_generation_is_refused_and_changes_nothing() {
        let fence = Fence::new();
        for generation in [0, 1, 1, 5] {
            fence.admit(Generation::new(generation)).unwrap();
        }
        let refused = fence.admit(Generation::new(4)).unwrap_err();
        assert_eq!(
            (
                refused.offered.get(),
                refused.greatest.get(),
                fence.greatest().get()
            ),
            (4, 5, 5)
        );
        fence.admit(Generation::new(5)).unwrap();
    }
}
