//! The ladder by which a local launch is ended, asked for or not (SUP-06, SUP-07, SUP-10, SUP-11, SUP-36).
//!
//! ```text
//!              stop                answered, failed, late, exited          late             late
//!   Running ─────────▶ Graceful ───────────────────────────▶ ExitWindow ─────▶ Interrupted ─────▶ Killed ──▶ Overdue
//!      │ broken                                                  ▲    kill, from anywhere ──────────▲  late (5 s)
//!      ├────────────────────────────────────────────────────────┘                                   │
//!      └ exited by itself ──────────────────────────────────────────────────────────────────────────┘
//!                        family gone, from anywhere ──▶ Confirmed
//! ```

use std::time::Duration;

use crate::outcome::{
    Cause, CleanupCause, CleanupCauseKind, Ending, Evidence, ExitStatus, Outcome, SIGKILL,
};
use crate::time::Timestamp;

/// How long a local process may take to exit by itself after its graceful stop (supervision.md §6).
pub const EXIT_WINDOW: Duration = Duration::from_secs(1);
/// From interrupt to SIGKILL.
pub const INTERRUPT_WINDOW: Duration = Duration::from_secs(1);
/// From SIGKILL to the answer "termination unconfirmed"; the wait itself has no end (SUP-07).
pub const ANSWER_AFTER_KILL: Duration = Duration::from_secs(5);

/// Where the ladder stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum State {
    /// Nobody asked for an end, and none came.
    Running,
    /// The plugin was told to shut down and runs its finalizers.
    Graceful {
        /// Then the graceful stop is over.
        until: Timestamp,
    },
    /// Its connection is closed; it may exit by itself.
    ExitWindow {
        /// Then it is interrupted.
        until: Timestamp,
    },
    /// SIGTERM and SIGCONT were sent.
    Interrupted {
        /// Then it is killed.
        until: Timestamp,
    },
    /// SIGKILL was sent.
    Killed {
        /// Then whoever asked is answered "unconfirmed".
        answer_by: Timestamp,
    },
    /// "Unconfirmed" was answered; the owner still waits.
    Overdue,
    /// The family is gone.
    Confirmed,
}

/// What happens to a launch.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Event {
    /// Somebody wants it stopped.
    Stop {
        /// Why.
        cause: Cause,
        /// Time for its finalizers; `None` when there is no plugin to talk to yet.
        graceful: Option<Duration>,
    },
    /// Somebody wants it killed, now.
    Kill {
        /// Why.
        cause: Cause,
    },
    /// It answered `shutdown`; an error names the finalizer that failed.
    ShutdownAnswered(Result<(), String>),
    /// It broke the protocol, closed its output, or was never started properly.
    Broken {
        /// What is recorded as the cause if it does not turn out to have exited.
        cause: Cause,
    },
    /// Its own process exited; `None`: the status is not known.
    ProcessExited(Option<ExitStatus>),
    /// The kernel ended a member of the family for want of memory.
    OutOfMemory,
    /// Its whole family is gone.
    FamilyGone {
        /// What proves it.
        evidence: Evidence,
        /// A SIGKILL hit a member.
        killed: bool,
    },
    /// Time has passed.
    Tick,
}

/// What the shell must do.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Send `shutdown` with this much time.
    SendShutdown(Duration),
    /// Fail what is in flight, close the plugin's stdin.
    CloseConnection,
    /// Fail what is in flight. Its stdin stays open: it must not exit by itself before a SIGKILL that is on its way arrives.
    FailCalls,
    /// SIGTERM and SIGCONT to the family.
    Interrupt,
    /// SIGKILL to the family until it is empty.
    Kill,
    /// Send [`Event::Tick`] at this time.
    WakeAt(Timestamp),
    /// Tell whoever asked that the exit can't be confirmed.
    Unconfirmed(Ending),
    /// The end.
    Confirmed(Ending),
}

/// The machine.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Termination {
    state: State,
    cause: Option<Cause>,
    began: Option<Timestamp>,
    exited: bool,
    exit_status: Option<ExitStatus>,
    cleanup: Vec<CleanupCause>,
}

impl Default for Termination {
    fn default() -> Self {
        Self::new()
    }
}

impl Termination {
    /// A launch that runs.
    pub const fn new() -> Self {
        Self {
            state: State::Running,
            cause: None,
            began: None,
            exited: false,
            exit_status: None,
            cleanup: Vec::new(),
        }
    }

    /// Where it stands.
    pub const fn state(&self) -> State {
        self.state
    }

    /// Whether an end was asked for or has begun.
    pub const fn ending(&self) -> bool {
        !matches!(self.state, State::Running)
    }

    /// The plugin's own exit status, as soon as it is known.
    pub const fn exit_status(&self) -> Option<ExitStatus> {
        self.exit_status
    }

    /// Whether the plugin's own process has exited.
    pub const fn process_exited(&self) -> bool {
        self.exited
    }

    /// Takes an event at `now`.
    pub fn step(&mut self, event: Event, now: Timestamp) -> Vec<Effect> {
        if self.state == State::Confirmed {
            return Vec::new();
        }
        match event {
            Event::Stop { cause, graceful } => self.stop(cause, graceful, now),
            Event::Kill { cause } => self.kill(cause, now),
            Event::ShutdownAnswered(answer) => self.answered(answer, now),
            Event::Broken { cause } => self.broken(cause, now),
            Event::ProcessExited(status) => self.process_gone(status, now),
            Event::OutOfMemory => self.out_of_memory(),
            Event::FamilyGone { evidence, killed } => self.family_gone(evidence, killed, now),
            Event::Tick => self.tick(now),
        }
    }

    /// What a shell that replaces a dead one must do again: every effect of the present state, all safe to repeat.
    pub fn resume(&self) -> Vec<Effect> {
        match self.state {
            State::Running | State::Overdue | State::Confirmed => Vec::new(),
            State::Graceful { until } => vec![Effect::WakeAt(until)],
            State::ExitWindow { until } => vec![Effect::CloseConnection, Effect::WakeAt(until)],
            State::Interrupted { until } => vec![
                Effect::CloseConnection,
                Effect::Interrupt,
                Effect::WakeAt(until),
            ],
            State::Killed { answer_by } => {
                vec![Effect::Kill, Effect::FailCalls, Effect::WakeAt(answer_by)]
            }
        }
    }

    fn begin(&mut self, cause: Cause, now: Timestamp) {
        self.cause.get_or_insert(cause);
        self.began.get_or_insert(now);
    }

    fn stop(&mut self, cause: Cause, graceful: Option<Duration>, now: Timestamp) -> Vec<Effect> {
        if self.ending() {
            return Vec::new();
        }
        self.begin(cause, now);
        match graceful {
            Some(timeout) => {
                let until = now.plus(timeout);
                self.state = State::Graceful { until };
                vec![Effect::SendShutdown(timeout), Effect::WakeAt(until)]
            }
            None => self.open_exit_window(now),
        }
    }

    fn kill(&mut self, cause: Cause, now: Timestamp) -> Vec<Effect> {
        self.begin(cause, now);
        match self.state {
            State::Killed { .. } | State::Overdue | State::Confirmed => Vec::new(),
            State::Running
            | State::Graceful { .. }
            | State::ExitWindow { .. }
            | State::Interrupted { .. } => self.send_kill(now),
        }
    }

    fn answered(&mut self, answer: Result<(), String>, now: Timestamp) -> Vec<Effect> {
        if !matches!(self.state, State::Graceful { .. }) {
            return Vec::new();
        }
        if let Err(why) = answer {
            self.note(
                CleanupCauseKind::FinalizerFailed,
                format!("a finalizer failed: {why}"),
            );
        }
        self.open_exit_window(now)
    }

    fn broken(&mut self, cause: Cause, now: Timestamp) -> Vec<Effect> {
        match self.state {
            State::Running => {
                self.begin(cause, now);
                self.open_exit_window(now)
            }
            State::Graceful { .. } => {
                self.note(
                    CleanupCauseKind::ConnectionLost,
                    "it closed its connection before it answered shutdown; some finalizers may not have finished".to_owned(),
                );
                self.open_exit_window(now)
            }
            _ => Vec::new(),
        }
    }

    fn process_gone(&mut self, status: Option<ExitStatus>, now: Timestamp) -> Vec<Effect> {
        if self.exited {
            return Vec::new();
        }
        self.exited = true;
        self.exit_status = status;
        let by_itself = if status == Some(ExitStatus::Signal(SIGKILL)) {
            Cause::External
        } else {
            Cause::Crashed
        };
        match self.state {
            State::Running => {
                // A crash: what is left of the family goes at once (SUP-36).
                self.begin(by_itself, now);
                self.send_kill(now)
            }
            // In a stop, what is left of the family goes through the ladder.
            State::Graceful { .. } => {
                self.note(
                    CleanupCauseKind::ConnectionLost,
                    "it exited before it answered shutdown; some finalizers may not have finished"
                        .to_owned(),
                );
                self.open_exit_window(now)
            }
            State::ExitWindow { .. } if self.crashing() => {
                self.cause = Some(by_itself);
                self.send_kill(now)
            }
            _ => Vec::new(),
        }
    }

    /// It is known only when the family is gone, and explains an end that nobody asked for.
    fn out_of_memory(&mut self) -> Vec<Effect> {
        if matches!(
            self.cause,
            None | Some(Cause::Crashed | Cause::ConnectionLost | Cause::External)
        ) {
            self.cause = Some(Cause::OutOfMemory);
        }
        Vec::new()
    }

    /// Whether the end began with the plugin itself: its output closed or broke, and nobody had asked for a stop.
    fn crashing(&self) -> bool {
        matches!(self.cause, Some(Cause::Crashed | Cause::ConnectionLost))
    }

    fn family_gone(&mut self, evidence: Evidence, killed: bool, now: Timestamp) -> Vec<Effect> {
        self.begin(Cause::Crashed, now);
        let killed = killed
            || self.state == State::Overdue
            || self.exit_status == Some(ExitStatus::Signal(SIGKILL));
        self.state = State::Confirmed;
        let outcome = if killed {
            Outcome::Killed
        } else {
            Outcome::Exited
        };
        vec![
            Effect::CloseConnection,
            Effect::Confirmed(self.ending_at(outcome, Some(evidence), now)),
        ]
    }

    fn tick(&mut self, now: Timestamp) -> Vec<Effect> {
        match self.state {
            State::Graceful { until } if now >= until => {
                self.note(
                    CleanupCauseKind::GracefulStopTimeout,
                    "the graceful stop did not end within shutdown_timeout; some finalizers may not have finished".to_owned(),
                );
                self.open_exit_window(now)
            }
            State::ExitWindow { until } if now >= until => {
                let what = if self.exited {
                    "processes it started were still running 1 second after the graceful stop; likely cause: a child that its finalizers did not end"
                } else {
                    "the process did not exit within 1 second after the graceful stop; likely cause: a timer, socket or other handle left after the finalizers ran"
                };
                self.note(CleanupCauseKind::LocalTerminationTimeout, what.to_owned());
                let until = now.plus(INTERRUPT_WINDOW);
                self.state = State::Interrupted { until };
                vec![Effect::Interrupt, Effect::WakeAt(until)]
            }
            State::Interrupted { until } if now >= until => self.send_kill(now),
            State::Killed { answer_by } if now >= answer_by => {
                self.state = State::Overdue;
                let mut ending = self.ending_at(Outcome::TerminationUnconfirmed, None, now);
                ending.cleanup.push(CleanupCause {
                    kind: CleanupCauseKind::TerminationUnconfirmed,
                    message:
                        "its exit is not confirmed 5 seconds after SIGKILL; it may still be running"
                            .to_owned(),
                });
                vec![Effect::Unconfirmed(ending)]
            }
            _ => Vec::new(),
        }
    }

    fn open_exit_window(&mut self, now: Timestamp) -> Vec<Effect> {
        let until = now.plus(EXIT_WINDOW);
        self.state = State::ExitWindow { until };
        vec![Effect::CloseConnection, Effect::WakeAt(until)]
    }

    fn send_kill(&mut self, now: Timestamp) -> Vec<Effect> {
        let answer_by = now.plus(ANSWER_AFTER_KILL);
        self.state = State::Killed { answer_by };
        vec![Effect::Kill, Effect::FailCalls, Effect::WakeAt(answer_by)]
    }

    fn note(&mut self, kind: CleanupCauseKind, message: String) {
        self.cleanup.push(CleanupCause { kind, message });
    }

    fn ending_at(&self, outcome: Outcome, evidence: Option<Evidence>, now: Timestamp) -> Ending {
        Ending {
            outcome,
            cause: self.cause.unwrap_or(Cause::Crashed),
            evidence,
            exit_status: self.exit_status,
            duration: self.began.map_or(Duration::ZERO, |began| now.since(began)),
            cleanup: self.cleanup.clone(),
        }
    }
}

#[cfg(test)]
mod tests;
