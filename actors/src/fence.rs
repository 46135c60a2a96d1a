//! Keeps an answer back until what it says is on disk ("an answer that says done is on disk before it is sent"), and turns it into an error
//! when it could not be written. A failed store stays failed (SUP-38), so a failure here stays too.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use tokio::sync::Notify;

#[derive(Debug, Default)]
pub(crate) struct Fence {
    open: AtomicUsize,
    passed: Notify,
    failure: OnceLock<String>,
}

/// A store command under way.
#[derive(Debug)]
pub(crate) struct UnderWay(Arc<Fence>);

impl Fence {
    pub(crate) fn begin(self: &Arc<Self>) -> UnderWay {
        self.open.fetch_add(1, Ordering::SeqCst);
        UnderWay(self.clone())
    }

    /// Why something that was to be stored is not; the first failure.
    pub(crate) fn failure(&self) -> Option<&str> {
        self.failure.get().map(String::as_str)
    }

    pub(crate) fn is_clear(&self) -> bool {
        self.open.load(Ordering::SeqCst) == 0
    }

    /// Resolves when no store command is under way.
    pub(crate) async fn clear(&self) {
        loop {
            let passed = self.passed.notified();
            if self.is_clear() {
                return;
            }
            passed.await;
        }
    }
}

impl UnderWay {
    /// The command failed.
    pub(crate) fn fail(&self, why: &impl std::fmt::Display) {
        self.0.failure.get_or_init(|| why.to_string());
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        if self.0.open.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.0.passed.notify_waiters();
        }
    }
}
