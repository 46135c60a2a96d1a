//! How long a call may take, and whether anybody still waits for it.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::clock;

thread_local! {
    /// Deadline of the call this thread is running, so that a call it makes does not outlast it.
    static CURRENT: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// The state of one call in flight.
#[derive(Debug, Default)]
pub(crate) struct CallState {
    cancelled: AtomicBool,
    deadline: Option<Instant>,
}

impl CallState {
    /// A call that came just now. A time so long that no clock reaches it is no bound.
    pub(crate) fn starting_now(timeout_ms: Option<u64>) -> Self {
        let deadline =
            timeout_ms.and_then(|timeout| clock::now().checked_add(Duration::from_millis(timeout)));
        Self {
            cancelled: AtomicBool::new(false),
            deadline,
        }
    }

    pub(crate) fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
            || self.remaining().is_some_and(|left| left.is_zero())
    }

    pub(crate) fn remaining(&self) -> Option<Duration> {
        self.deadline
            .map(|deadline| deadline.saturating_duration_since(clock::now()))
    }

    /// Runs `body` as this call: what it asks of the host is bounded by this call's deadline.
    pub(crate) fn scope<T>(&self, body: impl FnOnce() -> T) -> T {
        struct Restore(Option<Instant>);
        impl Drop for Restore {
            fn drop(&mut self) {
                CURRENT.set(self.0);
            }
        }
        let _restore = Restore(CURRENT.replace(self.deadline));
        body()
    }
}

/// Time left to the call this thread is running; `None` outside of one, or where it has no bound.
pub(crate) fn remaining_of_current_call() -> Option<Duration> {
    CURRENT
        .get()
        .map(|deadline| deadline.saturating_duration_since(clock::now()))
}
