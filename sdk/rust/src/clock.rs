//! The one place that reads the time.

use std::time::Instant;

#[expect(
    clippy::disallowed_methods,
    reason = "a plugin has no other clock; this is the one door"
)]
pub(crate) fn now() -> Instant {
    Instant::now()
}
