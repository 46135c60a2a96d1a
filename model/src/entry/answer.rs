//! What those who ask are told.

use crate::outcome::StopResult;

/// Stands for one waiting caller; the shell knows whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ask(pub u64);

/// A true answer to a verb (SUP-34).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Answer {
    /// It runs.
    Running,
    /// It is stopped, or its exit can't be confirmed: the result says which. `None`: nothing ran.
    Stopped(Option<Box<StopResult>>),
    /// It was restarted.
    Restarted {
        /// How the old launch ended; `None`: nothing ran.
        stop: Option<Box<StopResult>>,
        /// Whether the new one serves, else why not.
        started: Result<(), String>,
    },
    /// Its failures are forgotten.
    Reset,
    /// Not done.
    Refused(Refusal),
}

/// Why a verb was not done.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// The exit of the last launch is not confirmed (SUP-12).
    Unconfirmed(Box<StopResult>),
    /// The entry is being removed.
    Removing,
    /// The node shuts down.
    ShuttingDown,
    /// Somebody asked for a stop meanwhile.
    Superseded,
    /// It failed for good; the text says how.
    Failed(String),
}
