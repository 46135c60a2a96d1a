//! How an execution ended (SUP-11) and what went wrong while it was stopped (SUP-10).

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::id::{Instance, LaunchNumber};
use crate::name::EntryName;

/// The one outcome of every end of an execution (SUP-11).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Confirmed, and no SIGKILL was needed for, or hit, any member of the family.
    Exited,
    /// Confirmed; SIGKILL was needed for, or hit, a member of the family.
    Killed,
    /// Nobody can confirm the exit: it may still be running.
    TerminationUnconfirmed,
}

impl Outcome {
    /// The word used in logs and answers.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Exited => "exited",
            Self::Killed => "killed",
            Self::TerminationUnconfirmed => "termination_unconfirmed",
        }
    }
}

/// What proves that the whole family is gone (SUP-32), best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// The launch's cgroup is empty.
    Cgroup,
    /// No descendant is left in the process tree.
    Tree,
    /// The process group is empty.
    Group,
}

impl Evidence {
    /// The word used in logs and answers.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cgroup => "cgroup",
            Self::Tree => "tree",
            Self::Group => "group",
        }
    }
}

/// Why an execution ended (SUP-11).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// Somebody asked for the stop.
    Requested,
    /// Something else takes its place: a restart, a changed declaration.
    Replaced,
    /// It ended by itself, or broke the protocol.
    Crashed,
    /// The lease ran out.
    LeaseExpired,
    /// The node, or the connection to it, was lost.
    ConnectionLost,
    /// The kernel ended it for want of memory.
    OutOfMemory,
    /// Somebody outside the node killed it.
    External,
}

impl Cause {
    /// The word used in logs and answers.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Requested => "requested",
            Self::Replaced => "replaced",
            Self::Crashed => "crashed",
            Self::LeaseExpired => "lease_expired",
            Self::ConnectionLost => "connection_lost",
            Self::OutOfMemory => "out_of_memory",
            Self::External => "external",
        }
    }
}

/// Exit status of the plugin's own process (SUP-37): one of the two, never guessed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ExitStatus {
    /// It returned or called exit.
    Code(i32),
    /// A signal ended it.
    Signal(i32),
}

impl fmt::Display for ExitStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(signal) => write!(f, "signal {signal}"),
        }
    }
}

/// SIGKILL's number.
pub const SIGKILL: i32 = 9;

/// A kind of trouble while stopping (SUP-10).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CleanupCauseKind {
    /// The plugin did not finish its graceful stop within `shutdown_timeout`.
    GracefulStopTimeout,
    /// A finalizer reported a failure.
    FinalizerFailed,
    /// The family was not gone within the 1-second exit window.
    LocalTerminationTimeout,
    /// The exit is not confirmed.
    TerminationUnconfirmed,
    /// The connection to the plugin was lost during the stop.
    ConnectionLost,
}

/// One cause of a cleanup error.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CleanupCause {
    /// Its kind.
    pub kind: CleanupCauseKind,
    /// A sentence for people, with the likely reason.
    pub message: String,
}

/// How one execution ended: what the termination machine says.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Ending {
    /// The outcome.
    pub outcome: Outcome,
    /// Why it ended.
    pub cause: Cause,
    /// What proves it; `None` when unconfirmed.
    pub evidence: Option<Evidence>,
    /// Of the plugin's own process; `None` when not known.
    pub exit_status: Option<ExitStatus>,
    /// From the request (or the crash) to the confirmation, or to the answer when unconfirmed.
    pub duration: Duration,
    /// Trouble met on the way; empty for a clean stop.
    pub cleanup: Vec<CleanupCause>,
}

/// The stop result of an entry.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct StopResult {
    /// Which entry.
    pub entry: EntryName,
    /// What it ran as.
    pub instance: Instance,
    /// Which launch.
    pub launch: LaunchNumber,
    /// How it ended.
    pub ending: Ending,
}

impl StopResult {
    /// The cleanup error's message: what all causes say, or `None` when there was no trouble.
    pub fn cleanup_message(&self) -> Option<String> {
        if self.ending.cleanup.is_empty() {
            return None;
        }
        let all: Vec<&str> = self
            .ending
            .cleanup
            .iter()
            .map(|cause| cause.message.as_str())
            .collect();
        Some(format!(
            "stopping {} was not clean: {}",
            self.entry,
            all.join("; ")
        ))
    }
}
