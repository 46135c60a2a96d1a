//! The life of one entry (SUP-01, SUP-02, SUP-04, SUP-05, SUP-28, SUP-34).
//!
//! ```text
//!            ┌──────────────── services come and go ───────────────┐
//!            ▼                                                     │
//! Stopped ─▶ Waiting ─▶ Starting ─▶ Running ─▶ StoppingConsumers ─▶ Stopping ─▶ (what is wanted decides)
//!                          │  ▲        └── ended by itself ────────▶ │
//!                          ▼  │                                    ▼ not confirmed
//!                     BackingOff ─▶ Failed                        Blocked
//! ```
//!
//! A launch is asked for only when no other of the entry exists (SUP-02): `live` is true from the effect [`Effect::Launch`] to the
//! event that says the launch is gone, and `Entry::settle`, which alone asks for launches, is only reached when it is false.

mod answer;
mod reason;

use crate::id::LaunchNumber;
use crate::name::ServiceName;
use crate::outcome::{Cause, Outcome, StopResult};
use crate::retry::{Dice, Retry, RetryPolicy, Schedule};
use crate::time::Timestamp;

pub use answer::{Answer, Ask, Refusal};

/// What somebody wants of an entry; durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Desired {
    /// It should run.
    Running,
    /// It should not, until `start`, `restart` or a changed declaration (SUP-39).
    Stopped,
}

/// Where the entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum State {
    /// Nothing runs, and nothing should.
    Stopped,
    /// It should run, but something it needs is not there.
    Waiting,
    /// A launch is on its way.
    Starting,
    /// It serves.
    Running {
        /// Since when.
        since: Timestamp,
    },
    /// It still serves, while those that use it are stopped (SUP-04).
    StoppingConsumers(Cause),
    /// Its launch is being ended, or has ended by itself and its family is not confirmed gone.
    Stopping,
    /// It ended by itself and is started again later.
    BackingOff {
        /// When.
        until: Timestamp,
    },
    /// It ended by itself too often; a person or a change must come.
    Failed,
    /// The exit of its last launch is not confirmed; nothing replaces it.
    Blocked,
    /// It is no longer declared and nothing of it is left.
    Removed,
}

/// What happens to an entry.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Event {
    /// Run it; answered when it runs.
    Start(Ask),
    /// Stop it; answered with the stop's result.
    Stop(Ask),
    /// Stop it and start it again.
    Restart(Ask),
    /// Stop it without grace.
    Kill(Ask),
    /// Forget its failures; a failed or backing-off entry starts at once.
    Reset(Ask),
    /// It is no longer declared.
    Remove(Ask),
    /// The node shuts down: stop, wanting nothing else.
    Shutdown(Ask),
    /// Its declaration changed.
    Redeclared {
        /// The process must be replaced (anything but `retry` changed).
        replace: bool,
        /// The retry policy now.
        retry: RetryPolicy,
    },
    /// Something around it changed; look at the surroundings.
    Look,
    /// This caller went away; nothing else changes (SUP-34).
    Forget(Ask),
    /// Its launch has a number.
    Numbered(LaunchNumber),
    /// Its launch serves.
    Ready,
    /// Its launch no longer serves.
    Withdrawn,
    /// Its launch never had a process.
    NeverRan {
        /// Why.
        reason: String,
        /// For the next wait.
        dice: Dice,
    },
    /// Its launch is gone, confirmed.
    Ended {
        /// How.
        result: StopResult,
        /// For the next wait.
        dice: Dice,
    },
    /// The exit of its launch can't be confirmed.
    Unconfirmed(StopResult),
    /// Time has passed.
    Tick,
}

/// What the shell must do.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Launch it, by the declaration of this moment.
    Launch,
    /// Stop its launch by the ladder.
    StopLaunch(Cause),
    /// Kill its launch.
    KillLaunch(Cause),
    /// Remember durably what is wanted.
    Persist(Desired),
    /// Answer whoever asked.
    Answer(Ask, Answer),
    /// Send [`Event::Tick`] at this time.
    WakeAt(Timestamp),
    /// The block of an unconfirmed exit is lifted: say so.
    Unblocked(StopResult),
    /// Nothing of it is left; forget it.
    Removed,
}

/// What an entry sees of the others.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Surroundings {
    /// Services its process uses that nobody serves now; of one that does not run, the same as `lacking`.
    pub missing: Vec<ServiceName>,
    /// Services its declaration uses that nobody serves now: what the next launch would lack.
    pub lacking: Vec<ServiceName>,
    /// Services it provides that another entry's process still provides.
    pub taken: Vec<ServiceName>,
    /// No process uses a service of its process.
    pub consumers_idle: bool,
    /// Nothing may be launched now, whatever the entry.
    pub held: bool,
}

impl Surroundings {
    fn may_launch(&self) -> bool {
        self.lacking.is_empty() && self.taken.is_empty() && !self.held
    }
}

/// How many stops the hint of SUP-10 looks back.
const STOPS_REMEMBERED: usize = 5;
/// How many of them must have needed a kill.
const STOPS_KILLED: usize = 3;

/// The machine.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Entry {
    state: State,
    desired: Desired,
    removing: bool,
    shutting_down: bool,
    live: bool,
    /// Somebody asked for the end that is under way.
    end_asked: bool,
    policy: RetryPolicy,
    schedule: Schedule,
    restarts: u64,
    launch: LaunchNumber,
    since: Timestamp,
    ran_since: Option<Timestamp>,
    ran_for: Option<std::time::Duration>,
    last_stop: Option<StopResult>,
    last_trouble: Option<String>,
    recent_kills: Vec<bool>,
    seen: Surroundings,
    starts: Vec<(Ask, Option<StopResult>, bool)>,
    restarts_asked: Vec<Ask>,
    stops: Vec<Ask>,
}

impl Entry {
    /// An entry that has not been looked at yet; [`Event::Look`] gets it going.
    pub fn new(desired: Desired, policy: RetryPolicy) -> Self {
        Self {
            state: State::Stopped,
            desired,
            removing: false,
            shutting_down: false,
            live: false,
            end_asked: false,
            policy,
            schedule: Schedule::default(),
            restarts: 0,
            launch: LaunchNumber::NONE,
            since: Timestamp::default(),
            ran_since: None,
            ran_for: None,
            last_stop: None,
            last_trouble: None,
            recent_kills: Vec::new(),
            seen: Surroundings {
                consumers_idle: true,
                ..Surroundings::default()
            },
            starts: Vec::new(),
            restarts_asked: Vec::new(),
            stops: Vec::new(),
        }
    }

    /// A launch of an earlier start of the node may still live: nothing is launched until its end is told (SUP-17).
    pub fn inherit(&mut self, launch: LaunchNumber) {
        self.state = State::Stopping;
        self.live = true;
        self.end_asked = true;
        self.launch = launch;
    }

    /// How its last launch of an earlier start of the node ended.
    pub fn note_last_stop(&mut self, result: StopResult) {
        self.launch = self.launch.max(result.launch);
        self.last_stop = Some(result);
    }

    /// Since when it is where it is; zero before it was first looked at.
    pub const fn since(&self) -> Timestamp {
        self.since
    }

    /// Where it is.
    pub const fn state(&self) -> State {
        self.state
    }

    /// What is wanted.
    pub const fn desired(&self) -> Desired {
        self.desired
    }

    /// Whether a launch exists, or may.
    pub const fn live(&self) -> bool {
        self.live
    }

    /// Whether those that use its services may start, or go on.
    pub const fn serving(&self) -> bool {
        matches!(self.state, State::Running { .. })
    }

    /// Whether it is being removed.
    pub const fn removing(&self) -> bool {
        self.removing
    }

    /// Times it was started again by itself.
    pub const fn restarts(&self) -> u64 {
        self.restarts
    }

    /// How its last launch ended.
    pub const fn last_stop(&self) -> Option<&StopResult> {
        self.last_stop.as_ref()
    }

    /// Takes an event at `now`, seeing `around`.
    pub fn step(&mut self, event: Event, around: &Surroundings, now: Timestamp) -> Vec<Effect> {
        let mut out = Vec::new();
        let before = std::mem::discriminant(&self.state);
        self.seen = around.clone();
        self.take(event, now, &mut out);
        if before != std::mem::discriminant(&self.state) {
            self.since = now;
        }
        out
    }

    fn take(&mut self, event: Event, now: Timestamp, out: &mut Vec<Effect>) {
        match event {
            Event::Start(ask) => self.start(ask, now, out),
            Event::Stop(ask) => self.stop(ask, false, now, out),
            Event::Kill(ask) => self.stop(ask, true, now, out),
            Event::Restart(ask) => self.restart(ask, now, out),
            Event::Reset(ask) => self.reset(ask, now, out),
            Event::Remove(ask) => {
                self.removing = true;
                self.refuse_starts(&Refusal::Removing, out);
                self.stops.push(ask);
                self.wind_down(Cause::Requested, now, out);
            }
            Event::Shutdown(ask) => {
                self.shutting_down = true;
                self.refuse_starts(&Refusal::ShuttingDown, out);
                self.stops.push(ask);
                self.wind_down(Cause::Requested, now, out);
            }
            Event::Redeclared { replace, retry } => {
                self.policy = retry;
                // Declared again while it was being removed: it stays, and runs once the old launch is gone.
                if std::mem::take(&mut self.removing) || replace {
                    self.schedule.reset();
                    self.want(Desired::Running, out);
                    if self.live {
                        self.begin_stop(Cause::Replaced, out)
                    } else {
                        self.settle(now, out)
                    }
                }
            }
            Event::Look => self.look(now, out),
            Event::Forget(ask) => {
                self.starts.retain(|(waiting, ..)| *waiting != ask);
                self.restarts_asked.retain(|waiting| *waiting != ask);
                self.stops.retain(|waiting| *waiting != ask);
            }
            Event::Numbered(launch) => self.launch = launch,
            Event::Ready => self.ready(now, out),
            Event::Withdrawn => self.withdrawn(now),
            Event::NeverRan { reason, dice } => {
                self.live = false;
                self.last_trouble = Some(reason);
                self.gone(None, dice, now, out);
            }
            Event::Ended { result, dice } => self.ended(result, dice, now, out),
            Event::Unconfirmed(result) => self.unconfirmed(result, out),
            Event::Tick => {
                if matches!(self.state, State::BackingOff { until } if now >= until) {
                    self.restarts += 1;
                    self.settle(now, out);
                }
            }
        }
    }

    fn want(&mut self, desired: Desired, out: &mut Vec<Effect>) {
        if self.desired != desired {
            self.desired = desired;
            out.push(Effect::Persist(desired));
        }
    }

    fn refusal(&self) -> Option<Refusal> {
        if self.removing {
            return Some(Refusal::Removing);
        }
        if self.shutting_down {
            return Some(Refusal::ShuttingDown);
        }
        match (self.state, &self.last_stop) {
            (State::Blocked, Some(result)) => Some(Refusal::Unconfirmed(Box::new(result.clone()))),
            _ => None,
        }
    }

    fn start(&mut self, ask: Ask, now: Timestamp, out: &mut Vec<Effect>) {
        if let Some(refusal) = self.refusal() {
            out.push(Effect::Answer(ask, Answer::Refused(refusal)));
            return;
        }
        self.want(Desired::Running, out);
        if matches!(self.state, State::Running { .. }) {
            out.push(Effect::Answer(ask, Answer::Running));
            return;
        }
        self.starts.push((ask, None, false));
        if !self.live && self.state != State::Waiting {
            self.schedule.reset();
            self.settle(now, out);
        }
    }

    fn restart(&mut self, ask: Ask, now: Timestamp, out: &mut Vec<Effect>) {
        if let Some(refusal) = self.refusal() {
            out.push(Effect::Answer(ask, Answer::Refused(refusal)));
            return;
        }
        self.want(Desired::Running, out);
        self.schedule.reset();
        if self.live {
            self.restarts_asked.push(ask);
            self.begin_stop(Cause::Replaced, out);
        } else {
            self.starts.push((ask, None, true));
            self.settle(now, out);
        }
    }

    fn stop(&mut self, ask: Ask, kill: bool, now: Timestamp, out: &mut Vec<Effect>) {
        if !self.removing && !self.shutting_down {
            self.want(Desired::Stopped, out);
        }
        self.refuse_starts(&Refusal::Superseded, out);
        if self.state == State::Blocked {
            out.push(Effect::Answer(
                ask,
                Answer::Stopped(self.last_stop.clone().map(Box::new)),
            ));
            return;
        }
        self.stops.push(ask);
        if kill && self.live {
            self.end_asked = true;
            self.state = State::Stopping;
            out.push(Effect::KillLaunch(Cause::Requested));
        } else {
            self.wind_down(Cause::Requested, now, out);
        }
    }

    fn reset(&mut self, ask: Ask, now: Timestamp, out: &mut Vec<Effect>) {
        if let Some(refusal) = self.refusal() {
            out.push(Effect::Answer(ask, Answer::Refused(refusal)));
            return;
        }
        self.schedule.reset();
        if matches!(self.state, State::Failed | State::BackingOff { .. }) {
            self.settle(now, out);
        }
        out.push(Effect::Answer(ask, Answer::Reset));
    }

    /// Stops what lives; answers at once when nothing does.
    fn wind_down(&mut self, cause: Cause, now: Timestamp, out: &mut Vec<Effect>) {
        if self.state == State::Blocked {
            let result = self.last_stop.clone().map(Box::new);
            self.answer_stops(result, out);
        } else if self.live {
            self.begin_stop(cause, out);
        } else {
            self.answer_stops(None, out);
            self.settle(now, out);
        }
    }

    /// Consumers first (SUP-04), then the launch.
    fn begin_stop(&mut self, cause: Cause, out: &mut Vec<Effect>) {
        match self.state {
            State::Starting | State::Running { .. } => {
                self.end_asked = true;
                if self.seen.consumers_idle {
                    self.state = State::Stopping;
                    out.push(Effect::StopLaunch(cause));
                } else {
                    self.state = State::StoppingConsumers(cause);
                }
            }
            _ => {}
        }
    }

    fn look(&mut self, now: Timestamp, out: &mut Vec<Effect>) {
        match self.state {
            State::Starting | State::Running { .. } if !self.seen.missing.is_empty() => {
                self.begin_stop(Cause::Requested, out);
            }
            State::StoppingConsumers(cause) if self.seen.consumers_idle => {
                self.state = State::Stopping;
                out.push(Effect::StopLaunch(cause));
            }
            State::Stopped | State::Waiting if !self.live => self.settle(now, out),
            // A service that went away and comes back is the change a failed entry waits for (SUP-28).
            State::Failed | State::BackingOff { .. } if !self.seen.lacking.is_empty() => {
                self.schedule.reset();
                self.state = State::Waiting;
            }
            _ => {}
        }
    }

    fn ready(&mut self, now: Timestamp, out: &mut Vec<Effect>) {
        if self.state != State::Starting {
            return;
        }
        self.state = State::Running { since: now };
        self.ran_since = Some(now);
        for (ask, stop, restart) in std::mem::take(&mut self.starts) {
            let answer = if restart {
                Answer::Restarted {
                    stop: stop.map(Box::new),
                    started: Ok(()),
                }
            } else {
                Answer::Running
            };
            out.push(Effect::Answer(ask, answer));
        }
    }

    fn withdrawn(&mut self, now: Timestamp) {
        self.ran_for = self.ran_since.take().map(|since| now.since(since));
        if let State::Running { .. } | State::StoppingConsumers(_) = self.state {
            // By itself: those that use it are stopped because it no longer serves (SUP-05).
            self.state = State::Stopping;
        }
    }

    fn unconfirmed(&mut self, result: StopResult, out: &mut Vec<Effect>) {
        self.state = State::Blocked;
        self.last_stop = Some(result.clone());
        self.answer_stops(Some(Box::new(result.clone())), out);
        self.refuse_starts(&Refusal::Unconfirmed(Box::new(result)), out);
    }

    fn ended(&mut self, result: StopResult, dice: Dice, now: Timestamp, out: &mut Vec<Effect>) {
        self.live = false;
        if self.end_asked {
            if self.recent_kills.len() == STOPS_REMEMBERED {
                self.recent_kills.remove(0);
            }
            self.recent_kills
                .push(result.ending.outcome == Outcome::Killed);
        }
        self.last_stop = Some(result.clone());
        if self.state == State::Blocked {
            out.push(Effect::Unblocked(result.clone()));
            self.end_asked = true;
        }
        self.gone(Some(result), dice, now, out);
    }

    /// No process is left: answer, then see what is wanted.
    fn gone(
        &mut self,
        result: Option<StopResult>,
        dice: Dice,
        now: Timestamp,
        out: &mut Vec<Effect>,
    ) {
        let asked = std::mem::take(&mut self.end_asked);
        let ran = self
            .ran_for
            .take()
            .or_else(|| self.ran_since.take().map(|since| now.since(since)));
        self.answer_stops(result.clone().map(Box::new), out);
        self.starts.extend(
            self.restarts_asked
                .drain(..)
                .map(|ask| (ask, result.clone(), true)),
        );
        let wanted = self.desired == Desired::Running && !self.removing && !self.shutting_down;
        if asked || !wanted {
            self.settle(now, out);
            return;
        }
        self.answer_failed_restarts(out);
        match self.schedule.ended(&self.policy, ran, now, dice) {
            Retry::After(wait) => {
                let until = now.plus(wait);
                self.state = State::BackingOff { until };
                out.push(Effect::WakeAt(until));
                if !self.seen.lacking.is_empty() {
                    self.state = State::Waiting;
                }
            }
            Retry::GiveUp => {
                self.state = State::Failed;
                let why = self.reason(now);
                self.refuse_starts(&Refusal::Failed(why), out);
            }
        }
    }

    /// Nothing lives: decides what comes next. The only place that launches.
    fn settle(&mut self, now: Timestamp, out: &mut Vec<Effect>) {
        let _ = now;
        if self.live {
            return;
        }
        if self.removing {
            if self.state != State::Removed {
                self.state = State::Removed;
                out.push(Effect::Removed);
            }
        } else if self.shutting_down || self.desired == Desired::Stopped {
            self.state = State::Stopped;
        } else if self.seen.may_launch() {
            self.state = State::Starting;
            self.live = true;
            out.push(Effect::Launch);
        } else {
            self.state = State::Waiting;
        }
    }

    fn answer_stops(&mut self, result: Option<Box<StopResult>>, out: &mut Vec<Effect>) {
        for ask in self.stops.drain(..) {
            out.push(Effect::Answer(ask, Answer::Stopped(result.clone())));
        }
    }

    /// A restart is told how its first launch went; a plain start goes on waiting.
    fn answer_failed_restarts(&mut self, out: &mut Vec<Effect>) {
        let why = self
            .last_trouble
            .clone()
            .unwrap_or_else(|| match &self.last_stop {
                Some(last) => reason::ended_with(last),
                None => "it ended before it was ready".to_owned(),
            });
        for (ask, stop, restart) in std::mem::take(&mut self.starts) {
            if restart {
                let started = Err(why.clone());
                out.push(Effect::Answer(
                    ask,
                    Answer::Restarted {
                        stop: stop.map(Box::new),
                        started,
                    },
                ));
            } else {
                self.starts.push((ask, stop, restart));
            }
        }
    }

    fn refuse_starts(&mut self, refusal: &Refusal, out: &mut Vec<Effect>) {
        let starts = self.starts.drain(..).map(|(ask, ..)| ask);
        for ask in starts.chain(self.restarts_asked.drain(..)) {
            out.push(Effect::Answer(ask, Answer::Refused(refusal.clone())));
        }
    }
}

#[cfg(test)]
mod tests;
