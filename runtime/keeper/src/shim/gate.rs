//! The gate: one byte on the plugin's own stdin, sent once the launch is durably recorded.

use std::io;

use rustix::io::{read, retry_on_intr};
use rustix::process::getppid;

use crate::identity::ProcessId;

/// What came out of the gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gate {
    /// The byte came: the plugin may run.
    Open,
    /// End of stdin: the launch was given up, or the node is gone.
    Closed,
}

/// Whether the keeper still is the parent. The parent-death signal reports only deaths after it was asked for, so this
/// is checked afterwards.
pub(super) fn keeper_is_parent(keeper: ProcessId) -> bool {
    getppid() == Some(keeper.raw())
}

/// Waits without limit for exactly one byte: what follows on stdin belongs to the plugin.
pub(super) fn wait() -> io::Result<Gate> {
    let mut byte = [0; 1];
    let length = retry_on_intr(|| read(rustix::stdio::stdin(), &mut byte))?;
    Ok(if length == 0 {
        Gate::Closed
    } else {
        Gate::Open
    })
}
