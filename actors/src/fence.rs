//! Keeps an answer back until what it says is on disk ("an answer that says done is on disk before it is sent").

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

#[derive(Debug, Default)]
pub(crate) struct Fence {
    open: AtomicUsize,
    passed: Notify,
}

/// A store command under way.
#[derive(Debug)]
pub(crate) struct UnderWay(Arc<Fence>);

impl Fence {
    pub(crate) fn begin(self: &Arc<Self>) -> UnderWay {
        self.open.fetch_add(1, Ordering::SeqCst);
        UnderWay(self.clone())
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

impl Drop for UnderWay {
    fn drop(&mut self) {
        if self.0.open.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.0.passed.notify_waiters();
        }
    }
}
