//! How a process ended, and how it is known that its family is gone (SUP-32, SUP-37).

use serde::{Deserialize, Serialize};

/// The exit status of one process, as the kernel gave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExitStatus {
    /// It exited with this code (0 to 255).
    Code(i32),
    /// A signal ended it.
    Signal {
        /// The signal's number.
        signal: i32,
        /// Whether a core file was written.
        core: bool,
    },
}

impl ExitStatus {
    /// Whether SIGKILL ended it, whoever sent it.
    #[must_use]
    pub fn is_sigkill(self) -> bool {
        matches!(self, Self::Signal { signal, .. } if signal == libc::SIGKILL)
    }
}

/// What shows that a family is gone, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// The launch's control group is empty. Holds against hostile plugins; what the keeper
    /// gives where it can make groups.
    Cgroup,
    /// No descendant is left in the process tree. Holds against careless plugins; what the keeper gives
    /// where it can make no groups.
    Tree,
    /// The process group is empty: says nothing about descendants that left it. The keeper never gives it.
    Group,
}
