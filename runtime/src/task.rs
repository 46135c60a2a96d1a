//! The one place that starts asynchronous tasks, so that each has a name and an owner.

use std::future::Future;

/// Handle of a task; dropping it leaves the task running.
pub type TaskHandle = tokio::task::JoinHandle<()>;

/// Starts a task. `purpose` says what it is for, in traces; whoever keeps the handle, or whatever ends its loop, is its owner.
#[expect(clippy::disallowed_methods, reason = "the one place that starts tasks")]
pub fn spawn(
    purpose: &'static str,
    future: impl Future<Output = ()> + Send + 'static,
) -> TaskHandle {
    tracing::trace!(purpose, "A task starts");
    tokio::spawn(future)
}
