//! What identifies a process: never the pid alone (SUP-18).

use std::fmt;
use std::num::NonZeroI32;

use rustix::process::Pid;
use serde::{Deserialize, Serialize};

/// A process number. It identifies a process only while that process is known to be unreaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "i32", into = "i32")]
pub struct ProcessId(NonZeroI32);

impl ProcessId {
    /// The number itself, always greater than zero.
    #[must_use]
    pub fn get(self) -> i32 {
        self.0.get()
    }

    /// This process.
    #[must_use]
    pub fn current() -> Self {
        rustix::process::getpid().into()
    }

    pub(crate) fn raw(self) -> Pid {
        // `NonZeroI32` greater than zero is exactly what `Pid` is; the fallback is never taken.
        Pid::from_raw(self.0.get()).unwrap_or(Pid::INIT)
    }
}

/// A number that cannot be a process number (zero or negative).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0} is not a process number")]
pub struct NotAProcessId(pub i32);

impl TryFrom<i32> for ProcessId {
    type Error = NotAProcessId;

    fn try_from(number: i32) -> Result<Self, Self::Error> {
        match NonZeroI32::new(number) {
            Some(positive) if number > 0 => Ok(Self(positive)),
            _ => Err(NotAProcessId(number)),
        }
    }
}

impl From<ProcessId> for i32 {
    fn from(pid: ProcessId) -> Self {
        pid.get()
    }
}

impl From<Pid> for ProcessId {
    fn from(pid: Pid) -> Self {
        Self(pid.as_raw_nonzero())
    }
}

impl fmt::Display for ProcessId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// When the kernel started a process, in clock ticks since boot (field 22 of `/proc/PID/stat`; usually 100 ticks a second).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StartTime(pub u64);

/// A process number with its start time: together they identify a process within one boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ProcessIdentity {
    /// The process number.
    pub pid: ProcessId,
    /// When that process started.
    pub start_time: StartTime,
}
