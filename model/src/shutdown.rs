//! The order in which a node ends (CMP-50, as far as its rooms exist): edge → entries → keeper → store.
//!
//! Each step is waited for at most its budget; one that runs out is reported and the next begins (CMP-51).

use std::time::Duration;

use crate::time::Timestamp;

/// A step of the shutdown, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Step {
    /// No new work comes in; what was admitted goes on.
    Edge,
    /// Every entry is stopped by its ladder, consumers first.
    Entries,
    /// The keeper ends, having nothing left to keep.
    Keeper,
    /// What lasts is synced and closed.
    Store,
}

impl Step {
    /// All steps in order.
    pub const ORDER: [Self; 4] = [Self::Edge, Self::Entries, Self::Keeper, Self::Store];

    /// The word used in logs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Edge => "edge",
            Self::Entries => "entries",
            Self::Keeper => "keeper",
            Self::Store => "store",
        }
    }
}

/// Budget of every step but [`Step::Entries`].
pub const STEP_BUDGET: Duration = Duration::from_secs(15);
/// What the entries get beyond the longest chain of ladders.
pub const BEYOND_LADDERS: Duration = Duration::from_secs(5);

/// What happens.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Event {
    /// The present step is done, with nothing left.
    Done,
    /// The present step ended, but something is left.
    Unfinished(String),
    /// Time has passed.
    Tick,
}

/// What the shell must do.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Begin this step.
    Begin(Step),
    /// Send [`Event::Tick`] at this time.
    WakeAt(Timestamp),
    /// Say that this step did not finish, and what is left.
    Report(Step, String),
    /// All steps were taken.
    Finished(Ending),
}

/// How the shutdown went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ending {
    /// Exit code 0.
    Clean,
    /// Exit code 3.
    Unfinished,
}

/// The machine.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Shutdown {
    at: usize,
    until: Timestamp,
    entries_budget: Duration,
    ending: Ending,
}

impl Shutdown {
    /// Begins; `ladders` is the longest chain of ladders among the entries.
    pub fn begin(ladders: Duration, now: Timestamp) -> (Self, Vec<Effect>) {
        let mut shutdown = Self {
            at: 0,
            until: now,
            entries_budget: ladders.saturating_add(BEYOND_LADDERS),
            ending: Ending::Clean,
        };
        let effects = shutdown.enter(now);
        (shutdown, effects)
    }

    /// The step under way; `None` when finished.
    pub fn step_now(&self) -> Option<Step> {
        Step::ORDER.get(self.at).copied()
    }

    /// Takes an event at `now`.
    pub fn step(&mut self, event: Event, now: Timestamp) -> Vec<Effect> {
        let Some(current) = self.step_now() else {
            return Vec::new();
        };
        let mut effects = Vec::new();
        match event {
            Event::Tick if now < self.until => return effects,
            Event::Done => {}
            Event::Tick => {
                self.ending = Ending::Unfinished;
                effects.push(Effect::Report(
                    current,
                    "did not end within its time".to_owned(),
                ));
            }
            Event::Unfinished(what) => {
                self.ending = Ending::Unfinished;
                effects.push(Effect::Report(current, what));
            }
        }
        self.at += 1;
        effects.extend(self.enter(now));
        effects
    }

    fn enter(&mut self, now: Timestamp) -> Vec<Effect> {
        let Some(step) = self.step_now() else {
            return vec![Effect::Finished(self.ending)];
        };
        let budget = if step == Step::Entries {
            self.entries_budget
        } else {
            STEP_BUDGET
        };
        self.until = now.plus(budget);
        vec![Effect::Begin(step), Effect::WakeAt(self.until)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// CMP-50 CMP-51: the steps come in their order, each once, whatever happens, and any trouble is reported.
        #[test]
        fn steps_come_in_order_and_trouble_is_reported(history in proptest::collection::vec((0u8..3, 0u64..40_000), 0..40)) {
            let (mut shutdown, mut effects) = Shutdown::begin(Duration::from_secs(7), Timestamp(0));
            let mut now = Timestamp(0);
            let (mut begun, mut reported, mut finished) = (Vec::new(), 0, None);
            for (what, millis) in std::iter::once((9, 0)).chain(history) {
                now = now.plus(Duration::from_millis(millis));
                match what {
                    0 => effects = shutdown.step(Event::Done, now),
                    1 => effects = shutdown.step(Event::Unfinished("one left".to_owned()), now),
                    2 => effects = shutdown.step(Event::Tick, now),
                    _ => {}
                }
                for effect in effects.drain(..) {
                    match effect {
                        Effect::Begin(step) => begun.push(step),
                        Effect::Report(..) => reported += 1,
                        Effect::Finished(ending) => { prop_assert!(finished.replace(ending).is_none()); }
                        Effect::WakeAt(_) => {}
                    }
                }
            }
            prop_assert!(Step::ORDER.starts_with(&begun));
            prop_assert_eq!(finished.is_some(), shutdown.step_now().is_none());
            if let Some(ending) = finished {
                prop_assert_eq!(ending == Ending::Unfinished, reported > 0);
            }
        }
    }
}
