//! One launch, from the spawn to its confirmed end (walk 1 and 2 of the architecture).
//!
//! ```text
//! Spawning ──▶ Recording ──▶ Initializing ──▶ Running ──▶ (termination) ──▶ Ended
//!     │ refused: never ran        every failure on the way ──────▲
//! ```
//!
//! The process waits at its gate until the launch is durably recorded: what is stopped or fails before that never runs a plugin's code.

use std::time::Duration;

use crate::outcome::{Cause, Ending, Evidence, ExitStatus};
use crate::termination::{self, Termination};
use crate::time::Timestamp;

/// Bound of the handshake (interfaces.md §5).
pub const INITIALIZE_TIMEOUT: Duration = Duration::from_secs(10);

/// How far a launch has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Phase {
    /// The keeper was asked for a process.
    Spawning,
    /// The process waits at the gate while the launch is recorded.
    Recording,
    /// `initialize` was sent.
    Initializing {
        /// Then the handshake has failed.
        until: Timestamp,
    },
    /// It serves.
    Running,
    /// It is being ended, or has ended by itself and its family is not confirmed gone yet.
    Ending,
    /// Gone, or never there.
    Ended,
}

/// What happens to a launch.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Event {
    /// The process exists and waits at its gate.
    Spawned,
    /// There is no process.
    SpawnRefused(String),
    /// The launch is on disk.
    Recorded,
    /// The launch is not on disk; the process must not run.
    RecordFailed(String),
    /// The handshake is done and the plugin offers all it declares.
    Initialized,
    /// The handshake failed.
    InitializeFailed(String),
    /// Somebody wants it stopped.
    Stop {
        /// Why.
        cause: Cause,
        /// Time for its finalizers.
        graceful: Duration,
    },
    /// Somebody wants it killed.
    Kill {
        /// Why.
        cause: Cause,
    },
    /// `shutdown` was answered.
    ShutdownAnswered(Result<(), String>),
    /// It broke the protocol or closed its output.
    Broken {
        /// What it did.
        reason: String,
        /// How that counts.
        cause: Cause,
    },
    /// Its own process exited.
    ProcessExited(Option<ExitStatus>),
    /// The kernel ended a member of its family for want of memory.
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
    /// Ask the keeper for the process.
    Spawn,
    /// Write the launch to disk.
    Record,
    /// Let the process run, and send `initialize`.
    OpenGate,
    /// It is up: announce its services.
    Ready,
    /// It no longer serves: withdraw its services. Always before anything ends it.
    Withdraw,
    /// Its own process exited (shown at once, SUP-36).
    ProcessExited(Option<ExitStatus>),
    /// A rung of the ladder.
    Ladder(termination::Effect),
    /// There was never a process: nothing to confirm.
    NeverRan(String),
}

/// The machine.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Launch {
    phase: Phase,
    termination: Termination,
    ready: bool,
    /// The end that was asked for while there was no process yet.
    asked: Option<Cause>,
    /// What was told of its end before there was a process to end.
    early: Vec<Event>,
    trouble: Option<String>,
}

impl Launch {
    /// A launch to begin; the effects begin it.
    pub fn begin() -> (Self, Vec<Effect>) {
        let launch = Self {
            phase: Phase::Spawning,
            termination: Termination::new(),
            ready: false,
            asked: None,
            early: Vec::new(),
            trouble: None,
        };
        (launch, vec![Effect::Spawn])
    }

    /// How far it has come.
    pub const fn phase(&self) -> Phase {
        self.phase
    }

    /// The ladder it ends by.
    pub const fn termination(&self) -> &Termination {
        &self.termination
    }

    /// Whether it has served at some time.
    pub const fn was_ready(&self) -> bool {
        self.ready
    }

    /// Why it ended, beyond its outcome: the first trouble met.
    pub fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    /// Takes an event at `now`.
    pub fn step(&mut self, event: Event, now: Timestamp) -> Vec<Effect> {
        use termination::Event as Rung;
        match (self.phase, event) {
            (Phase::Ended, _) => Vec::new(),

            (Phase::Spawning, Event::Spawned) => self.spawned(now),
            (Phase::Spawning, Event::SpawnRefused(why)) => {
                self.phase = Phase::Ended;
                // The refusal is the reason; a connection that closed because of it is not.
                self.trouble = Some(why.clone());
                vec![Effect::NeverRan(why)]
            }
            (Phase::Spawning, Event::Stop { cause, .. } | Event::Kill { cause }) => {
                self.asked.get_or_insert(cause);
                Vec::new()
            }
            // There may be no process yet, and perhaps never: whether there is one is the next thing to be said.
            (Phase::Spawning, Event::Broken { reason, cause }) => {
                self.asked.get_or_insert(cause);
                self.trouble.get_or_insert(reason);
                Vec::new()
            }
            // News of its end may overtake the word that there is a process.
            (Phase::Spawning, event @ (Event::ProcessExited(_) | Event::FamilyGone { .. })) => {
                let kind = std::mem::discriminant(&event);
                if !self
                    .early
                    .iter()
                    .any(|known| std::mem::discriminant(known) == kind)
                {
                    self.early.push(event);
                }
                Vec::new()
            }
            (Phase::Spawning, _) => Vec::new(),

            (Phase::Recording, Event::Recorded) => {
                let until = now.plus(INITIALIZE_TIMEOUT);
                self.phase = Phase::Initializing { until };
                vec![
                    Effect::OpenGate,
                    Effect::Ladder(termination::Effect::WakeAt(until)),
                ]
            }
            (Phase::Recording, Event::RecordFailed(why)) => {
                self.trouble.get_or_insert(why);
                self.end(
                    Rung::Broken {
                        cause: Cause::Crashed,
                    },
                    now,
                )
            }

            (Phase::Initializing { .. }, Event::Initialized) => {
                self.phase = Phase::Running;
                self.ready = true;
                vec![Effect::Ready]
            }
            (Phase::Initializing { .. }, Event::InitializeFailed(why)) => {
                self.trouble.get_or_insert(why);
                self.end(
                    Rung::Broken {
                        cause: Cause::Crashed,
                    },
                    now,
                )
            }
            (Phase::Initializing { until }, Event::Tick) if now >= until => {
                self.trouble.get_or_insert_with(|| {
                    format!(
                        "did not answer initialize within {} seconds",
                        INITIALIZE_TIMEOUT.as_secs()
                    )
                });
                self.end(
                    Rung::Broken {
                        cause: Cause::Crashed,
                    },
                    now,
                )
            }

            (Phase::Running, Event::Stop { cause, graceful }) => self.end(
                Rung::Stop {
                    cause,
                    graceful: Some(graceful),
                },
                now,
            ),
            (_, Event::Stop { cause, .. }) => self.end(
                Rung::Stop {
                    cause,
                    graceful: None,
                },
                now,
            ),
            (_, Event::Kill { cause }) => self.end(Rung::Kill { cause }, now),
            (_, Event::Broken { reason, cause }) => {
                if !self.termination.ending() {
                    self.trouble.get_or_insert(reason);
                }
                self.end(Rung::Broken { cause }, now)
            }
            (_, Event::ShutdownAnswered(answer)) => self.end(Rung::ShutdownAnswered(answer), now),
            (_, Event::ProcessExited(status)) => {
                let known = self.termination.process_exited();
                let mut effects = self.end(Rung::ProcessExited(status), now);
                if !known {
                    effects.insert(0, Effect::ProcessExited(status));
                }
                effects
            }
            (_, Event::OutOfMemory) => self.end(Rung::OutOfMemory, now),
            (_, Event::FamilyGone { evidence, killed }) => {
                self.end(Rung::FamilyGone { evidence, killed }, now)
            }
            (Phase::Ending, Event::Tick) => self.end(Rung::Tick, now),

            // Late or out of turn: the ladder is already under way, or the answer is no longer wanted.
            (
                _,
                Event::Tick
                | Event::Spawned
                | Event::SpawnRefused(_)
                | Event::Recorded
                | Event::RecordFailed(_)
                | Event::Initialized
                | Event::InitializeFailed(_),
            ) => Vec::new(),
        }
    }

    /// What a shell that replaces a dead one must arm again. Spawning, recording and the handshake go on outside the shell.
    pub fn resume(&self) -> Vec<Effect> {
        match self.phase {
            Phase::Initializing { until } => {
                vec![Effect::Ladder(termination::Effect::WakeAt(until))]
            }
            Phase::Ending => self
                .termination
                .resume()
                .into_iter()
                .map(Effect::Ladder)
                .collect(),
            Phase::Spawning | Phase::Recording | Phase::Running | Phase::Ended => Vec::new(),
        }
    }

    /// There is a process: to be recorded, or to be ended at its gate, or gone already.
    fn spawned(&mut self, now: Timestamp) -> Vec<Effect> {
        use termination::Event as Rung;
        let early = std::mem::take(&mut self.early);
        let asked = self.asked.take();
        if asked.is_none() && early.is_empty() {
            self.phase = Phase::Recording;
            return vec![Effect::Record];
        }
        // Not recorded: closing its stdin ends it at the gate.
        let mut effects = match asked {
            Some(cause) => self.end(
                Rung::Stop {
                    cause,
                    graceful: None,
                },
                now,
            ),
            None => self.end(
                Rung::Broken {
                    cause: Cause::Crashed,
                },
                now,
            ),
        };
        // In the order in which they happen, whatever the order in which they were told.
        let exited = early
            .iter()
            .find(|event| matches!(event, Event::ProcessExited(_)));
        let gone = early
            .iter()
            .find(|event| matches!(event, Event::FamilyGone { .. }));
        for event in exited.into_iter().chain(gone) {
            effects.extend(self.step(event.clone(), now));
        }
        effects
    }

    fn end(&mut self, rung: termination::Event, now: Timestamp) -> Vec<Effect> {
        let served = self.phase == Phase::Running;
        let steps = self.termination.step(rung, now);
        if self.termination.ending() {
            self.phase = Phase::Ending;
        }
        if self.termination.state() == termination::State::Confirmed {
            self.phase = Phase::Ended;
        }
        let withdraw = (served && self.phase != Phase::Running).then_some(Effect::Withdraw);
        withdraw
            .into_iter()
            .chain(steps.into_iter().map(Effect::Ladder))
            .collect()
    }
}

/// The ending among effects, if they hold one: confirmed or unconfirmed.
pub fn ending(effects: &[Effect]) -> Option<&Ending> {
    effects.iter().find_map(|effect| match effect {
        Effect::Ladder(
            termination::Effect::Confirmed(ending) | termination::Effect::Unconfirmed(ending),
        ) => Some(ending),
        _ => None,
    })
}

#[cfg(test)]
mod tests;
