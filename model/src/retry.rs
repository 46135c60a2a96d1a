//! When an entry that ended by itself is started again (SUP-28).

use std::collections::VecDeque;
use std::time::Duration;

use crate::time::Timestamp;

/// A run at least this long was healthy and resets the schedule.
pub const HEALTHY_AFTER: Duration = Duration::from_secs(10);

/// Most restarts that may be asked for within a window; bounds the memory of the schedule.
pub const RESTARTS_MAX: u32 = 10_000;

/// `retry` of an entry.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum RetryPolicy {
    /// Never started again by itself.
    None,
    /// Exponential waits with a cap.
    Exponential(Exponential),
}

/// Waits from `initial` to `max`, each `factor_percent` of the one before, at most `restarts` within `within`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Exponential {
    /// First wait.
    pub initial: Duration,
    /// Longest wait.
    pub max: Duration,
    /// Growth in hundredths: 200 doubles. At least 100.
    pub factor_percent: u32,
    /// Restarts allowed within the window.
    pub restarts: u32,
    /// The window.
    pub within: Duration,
}

impl Default for Exponential {
    fn default() -> Self {
        Self {
            initial: Duration::from_millis(100),
            max: Duration::from_secs(30),
            factor_percent: 200,
            restarts: 10,
            within: Duration::from_secs(600),
        }
    }
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self::Exponential(Exponential::default())
    }
}

/// A random number the shell drew: the rules draw none themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Dice(pub u32);

/// What the schedule says after an end that nobody asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Retry {
    /// Start again after this wait.
    After(Duration),
    /// Past the cap, or `retry: none`: wait for a person or a change.
    GiveUp,
}

/// Where an entry stands in its schedule.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Schedule {
    attempt: u32,
    restarts: VecDeque<Timestamp>,
}

impl Schedule {
    /// Starts afresh: a person or a change asked for it.
    pub fn reset(&mut self) {
        *self = Self::default();
    }

    /// How many restarts the window holds now.
    pub fn recent(&self) -> usize {
        self.restarts.len()
    }

    /// Judges an end at `now` of a run that lasted `ran` (`None`: it never got to run).
    pub fn ended(
        &mut self,
        policy: &RetryPolicy,
        ran: Option<Duration>,
        now: Timestamp,
        dice: Dice,
    ) -> Retry {
        let RetryPolicy::Exponential(policy) = policy else {
            return Retry::GiveUp;
        };
        if ran.is_some_and(|ran| ran >= HEALTHY_AFTER) {
            self.attempt = 0;
        }
        while self
            .restarts
            .front()
            .is_some_and(|at| now.since(*at) >= policy.within)
        {
            self.restarts.pop_front();
        }
        if self.restarts.len() >= policy.restarts as usize {
            return Retry::GiveUp;
        }
        self.restarts.push_back(now);
        let mut wait = policy.initial.min(policy.max);
        for _ in 0..self.attempt {
            if wait >= policy.max || wait.is_zero() {
                break;
            }
            let grown = wait
                .as_nanos()
                .saturating_mul(u128::from(policy.factor_percent))
                / 100;
            wait = Duration::from_nanos(u64::try_from(grown).unwrap_or(u64::MAX)).min(policy.max);
            if policy.factor_percent == 100 {
                break;
            }
        }
        self.attempt = self.attempt.saturating_add(1);
        // Each wait × 0.5 to 1, so that entries felled together do not rise together.
        let half = wait / 2;
        let spread = u64::try_from(half.as_nanos()).unwrap_or(u64::MAX);
        let share = u128::from(spread) * u128::from(dice.0) / u128::from(u32::MAX);
        Retry::After(half + Duration::from_nanos(u64::try_from(share).unwrap_or(spread)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn wait(schedule: &mut Schedule, policy: &RetryPolicy, now: u64, dice: u32) -> Retry {
        schedule.ended(policy, None, Timestamp(now), Dice(dice))
    }

    /// SUP-28
    #[test]
    fn default_schedule_doubles_from_100_millis_to_30_seconds() {
        let policy = RetryPolicy::default();
        let mut schedule = Schedule::default();
        let waits: Vec<Retry> = (0..11)
            .map(|_| wait(&mut schedule, &policy, 0, u32::MAX))
            .collect();
        let millis = [100, 200, 400, 800, 1600, 3200, 6400, 12800, 25600, 30000];
        for (got, want) in waits.iter().zip(millis) {
            assert_eq!(*got, Retry::After(Duration::from_millis(want)));
        }
        assert_eq!(waits.last(), Some(&Retry::GiveUp));
    }

    /// SUP-28
    #[test]
    fn window_forgets_old_restarts() {
        let policy = RetryPolicy::default();
        let mut schedule = Schedule::default();
        for _ in 0..10 {
            assert!(matches!(
                wait(&mut schedule, &policy, 0, 0),
                Retry::After(_)
            ));
        }
        assert_eq!(wait(&mut schedule, &policy, 1, 0), Retry::GiveUp);
        let later = 600_000_000_000;
        assert!(matches!(
            wait(&mut schedule, &policy, later, 0),
            Retry::After(_)
        ));
    }

    /// SUP-28
    #[test]
    fn healthy_run_resets_the_wait_but_not_the_cap() {
        let policy = RetryPolicy::default();
        let mut schedule = Schedule::default();
        for _ in 0..5 {
            wait(&mut schedule, &policy, 0, 0);
        }
        let healthy = schedule.ended(&policy, Some(HEALTHY_AFTER), Timestamp(1), Dice(u32::MAX));
        assert_eq!(healthy, Retry::After(Duration::from_millis(100)));
        assert_eq!(schedule.recent(), 6);
    }

    /// SUP-28
    #[test]
    fn retry_none_never_restarts() {
        assert_eq!(
            wait(&mut Schedule::default(), &RetryPolicy::None, 0, 0),
            Retry::GiveUp
        );
    }

    proptest! {
        /// SUP-28
        #[test]
        fn waits_stay_between_half_and_whole_and_below_max(
            initial in 0u64..10_000, max in 1u64..100_000, factor in 100u32..1000, dice in any::<u32>(), ends in 1usize..30,
        ) {
            let exponential = Exponential {
                initial: Duration::from_millis(initial), max: Duration::from_millis(max), factor_percent: factor,
                restarts: 20, within: Duration::from_secs(600),
            };
            let policy = RetryPolicy::Exponential(exponential.clone());
            let (mut low, mut high) = (Schedule::default(), Schedule::default());
            let mut given = 0;
            for at in 0..ends as u64 {
                match (wait(&mut low, &policy, at, dice), wait(&mut high, &policy, at, u32::MAX)) {
                    (Retry::After(some), Retry::After(whole)) => {
                        given += 1;
                        prop_assert!(some <= whole && some * 2 + Duration::from_nanos(2) >= whole);
                        prop_assert!(whole <= exponential.max);
                    }
                    (Retry::GiveUp, Retry::GiveUp) => prop_assert!(given == 20),
                    other => prop_assert!(false, "{other:?}"),
                }
            }
        }
    }
}
