//! Why an entry is where it is, in a sentence (interfaces.md §3, `reason` and `hint`).

use super::{Desired, Entry, STOPS_KILLED, State};
use crate::outcome::{Outcome, StopResult};
use crate::time::Timestamp;

/// How a launch ended, in a few words.
pub(super) fn ended_with(result: &StopResult) -> String {
    let status = match (&result.ending.exit_status, result.ending.outcome) {
        (_, Outcome::TerminationUnconfirmed) => return "its exit is not confirmed".to_owned(),
        (Some(status), _) => status.to_string(),
        (None, _) => "exit status not known".to_owned(),
    };
    format!(
        "launch {} ended ({}, {status})",
        result.launch,
        result.ending.cause.as_str()
    )
}

fn list<T: std::fmt::Display>(items: &[T]) -> String {
    items
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}

impl Entry {
    /// What the last launch that ended met, for `last_error`; it stays while the next one runs.
    pub fn last_trouble(&self) -> Option<&str> {
        self.last_trouble.as_deref()
    }

    /// Notes what the launch that is about to end met; `None`: nothing.
    pub fn note_trouble(&mut self, trouble: Option<String>) {
        self.last_trouble = trouble;
    }

    /// A sentence that says why it is in its state.
    pub fn reason(&self, now: Timestamp) -> String {
        let last = || match (&self.last_trouble, &self.last_stop) {
            (Some(trouble), Some(stop)) => format!("{}: {trouble}", ended_with(stop)),
            (Some(trouble), None) => trouble.clone(),
            (None, Some(stop)) => ended_with(stop),
            (None, None) => "it never ran".to_owned(),
        };
        match self.state {
            State::Stopped if self.shutting_down => "The node is shutting down.".to_owned(),
            State::Stopped if self.desired == Desired::Stopped => "Somebody stopped it.".to_owned(),
            State::Stopped => "It has not been looked at yet.".to_owned(),
            State::Waiting if self.seen.held => {
                "It waits until processes of an earlier start are confirmed gone.".to_owned()
            }
            State::Waiting if !self.seen.lacking.is_empty() => {
                format!("It waits for the service {}.", list(&self.seen.lacking))
            }
            State::Waiting => format!("Another process still provides {}.", list(&self.seen.taken)),
            State::Starting => format!("Launch {} is starting.", self.launch),
            State::Running { .. } => format!("Launch {} runs.", self.launch),
            State::StoppingConsumers(_) => {
                "Entries that use it are being stopped first.".to_owned()
            }
            State::Stopping if self.seen.held && self.ran_since.is_none() => {
                format!(
                    "Launch {} of an earlier start of the node is being ended.",
                    self.launch
                )
            }
            State::Stopping if self.end_asked => {
                format!("Launch {} is being stopped.", self.launch)
            }
            State::Stopping => format!(
                "Launch {} ended by itself; what is left of it is being ended.",
                self.launch
            ),
            State::BackingOff { until } => format!(
                "It is started again in {} ms: {}.",
                until.since(now).as_millis(),
                last()
            ),
            State::Failed => format!(
                "It ended by itself {} times within its retry window and is not started again: {}.",
                self.schedule.recent().saturating_add(1),
                last()
            ),
            State::Blocked => format!(
                "The exit of launch {} is not confirmed: it may still be running, so nothing replaces it.",
                self.launch
            ),
            State::Removed => "It is no longer declared.".to_owned(),
        }
    }

    /// What to do about it, where something is known (SUP-10).
    pub fn hint(&self) -> Option<&'static str> {
        if self.recent_kills.iter().filter(|killed| **killed).count() >= STOPS_KILLED {
            return Some(
                "it was killed in 3 of its last 5 stops: raise shutdown_timeout (for an entry of the file: declare it through the API), or find what keeps it busy",
            );
        }
        match self.state {
            State::Failed => Some("look at its logs, mend what is wrong, then start or reset it"),
            State::Blocked => Some(
                "look at the process named in last_stop; the block is lifted when its exit is confirmed",
            ),
            _ => None,
        }
    }
}
