//! The way out.

use std::time::{Duration, Instant};

use treewarden_protocol::{ErrorKind, ErrorObject};

use crate::clock;
use crate::failure::Failure;
use crate::handler::catch;

/// Why the plugin ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShutdownReason {
    /// The host asked for it.
    Requested,
    /// stdin ended: the host is gone, or the plugin runs by hand (SUP-22).
    EndOfInput,
    /// The host sent what is no message.
    BrokenLine,
}

/// What a finalizer is given.
#[derive(Debug)]
pub struct Shutdown {
    reason: ShutdownReason,
    deadline: Option<Instant>,
}

impl Shutdown {
    pub(crate) fn starting_now(reason: ShutdownReason, timeout: Duration) -> Self {
        Self {
            reason,
            deadline: clock::now().checked_add(timeout),
        }
    }

    /// Why the plugin ends.
    #[must_use]
    pub const fn reason(&self) -> ShutdownReason {
        self.reason
    }

    /// Time left before the process is ended from outside.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.deadline.map_or(Duration::MAX, |deadline| {
            deadline.saturating_duration_since(clock::now())
        })
    }
}

/// What a finalizer does.
pub(crate) type FinalizerFunction = Box<dyn FnOnce(&Shutdown) -> Result<(), Failure> + Send>;

/// A registered finalizer.
pub(crate) struct Finalizer {
    pub(crate) name: String,
    pub(crate) function: FinalizerFunction,
}

/// Runs all of them, the last registered first, whatever each does.
///
/// # Errors
///
/// An error object that names those that failed.
pub(crate) fn run(finalizers: Vec<Finalizer>, shutdown: &Shutdown) -> Result<(), ErrorObject> {
    let mut failed = Vec::new();
    for Finalizer { name, function } in finalizers.into_iter().rev() {
        if let Err(failure) = catch(|| function(shutdown)) {
            failed.push((name, failure.message().to_owned()));
        }
    }
    if failed.is_empty() {
        return Ok(());
    }
    let sentences: Vec<String> = failed
        .iter()
        .map(|(name, why)| format!("finalizer {name} failed: {why}"))
        .collect();
    let names: Vec<String> = failed.into_iter().map(|(name, _)| name).collect();
    Err(ErrorObject::new(ErrorKind::Application, sentences.join("; ")).with("finalizers", names))
}
