//! Asking the reader for something while it waits for the plugin.
//!
//! A flag and the reader's waker: looked at only when there is nothing to read, so a call pays next to nothing for it.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;

/// The process has exited: read what it left in the pipe.
pub(super) const DRAIN: u8 = 1;
/// The launch is over: read nothing more, whoever else holds the other end.
pub(super) const FINISH: u8 = 2;

#[derive(Debug, Default)]
pub(super) struct Poke {
    asked: AtomicU8,
    reader: Mutex<Option<Waker>>,
}

impl Poke {
    fn reader(&self) -> MutexGuard<'_, Option<Waker>> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks for it, and wakes the reader.
    pub(super) fn ask(&self, what: u8) {
        self.asked.fetch_or(what, Ordering::SeqCst);
        if let Some(reader) = &*self.reader() {
            reader.wake_by_ref();
        }
    }

    /// What was asked since the last look; whatever is asked from now on wakes `waker`.
    pub(super) fn look(&self, waker: &Waker) -> u8 {
        {
            let mut reader = self.reader();
            if !reader.as_ref().is_some_and(|known| known.will_wake(waker)) {
                *reader = Some(waker.clone());
            }
        }
        // After the waker is in place: an ask in between is seen here, a later one wakes.
        if self.asked.load(Ordering::SeqCst) == 0 {
            return 0;
        }
        self.asked.swap(0, Ordering::SeqCst)
    }
}
