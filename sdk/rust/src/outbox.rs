//! The way out: whole lines, one writer at a time.

use std::io::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Lines to the host. A write that fails closes it: the host is gone, and the end of stdin will say so.
pub(crate) struct Outbox(Mutex<Option<Box<dyn Write + Send>>>);

impl Outbox {
    pub(crate) fn new(output: Box<dyn Write + Send>) -> Self {
        Self(Mutex::new(Some(output)))
    }

    /// Writes whole lines. Waits while the host reads nothing: that is the only back pressure there is.
    ///
    /// Answers whether they were handed over.
    pub(crate) fn write(&self, lines: &[u8]) -> bool {
        let mut output = self.lock();
        let written = output
            .as_mut()
            .is_some_and(|pipe| pipe.write_all(lines).and_then(|()| pipe.flush()).is_ok());
        if !written {
            *output = None;
        }
        written
    }

    fn lock(&self) -> MutexGuard<'_, Option<Box<dyn Write + Send>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
