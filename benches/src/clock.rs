//! The bench's stopwatch.

use std::time::{Duration, Instant};

/// A point in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(Instant);

impl Moment {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that reads the bench's clock"
    )]
    pub(crate) fn now() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn elapsed(self) -> Duration {
        Self::now().since(self)
    }

    pub(crate) fn since(self, earlier: Self) -> Duration {
        self.0.saturating_duration_since(earlier.0)
    }
}

/// Looks every millisecond until there is an answer.
///
/// # Errors
/// There was none within `limit`; `what` says what was waited for.
pub(crate) fn wait_for<T>(
    what: &str,
    limit: Duration,
    mut look: impl FnMut() -> Option<T>,
) -> anyhow::Result<T> {
    let begun = Moment::now();
    loop {
        if let Some(found) = look() {
            return Ok(found);
        }
        anyhow::ensure!(
            begun.elapsed() < limit,
            "{what} did not happen within {limit:?}"
        );
        std::thread::sleep(Duration::from_millis(1));
    }
}
