//! When to look at ending families again without being woken: a process may be handed to the keeper without a signal.

use std::time::Duration;

use crate::system::clock::Moment;

const SHORTEST: Duration = Duration::from_millis(1);
/// Families that do not end (an unkillable member, one that ignores the interrupt) cost eight looks a second.
const LONGEST: Duration = Duration::from_millis(128);

#[derive(Debug)]
pub(super) struct Retry {
    wait: Duration,
    next: Option<Moment>,
}

impl Retry {
    pub(super) fn new() -> Self {
        Self {
            wait: SHORTEST,
            next: None,
        }
    }

    pub(super) fn next(&self) -> Option<Moment> {
        self.next
    }

    pub(super) fn is_due(&self, now: Moment) -> bool {
        self.next.is_some_and(|next| next <= now)
    }

    /// Starts over with the shortest wait: something was asked for, or something moved.
    pub(super) fn soon(&mut self, now: Moment) {
        self.wait = SHORTEST;
        self.next = Some(now.after(self.wait));
    }

    /// Waits twice as long as before, if the time has come; else goes on waiting.
    pub(super) fn later(&mut self, now: Moment) {
        if self.next.is_none_or(|next| next <= now) {
            self.next = Some(now.after(self.wait));
            self.wait = (self.wait * 2).min(LONGEST);
        }
    }

    pub(super) fn never(&mut self) {
        *self = Self::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SUP-33: what does not end is looked at for ever, and does not spin.
    #[test]
    fn waits_double_up_to_a_bound_and_start_over_on_movement() {
        let mut now = Moment::now();
        let mut retry = Retry::new();
        let mut waits = Vec::new();
        for _ in 0..10 {
            retry.later(now);
            let next = retry.next().unwrap();
            waits.push(next.until(now).as_millis());
            now = next;
        }
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 128, 128, 128]);
        retry.soon(now);
        assert_eq!(retry.next().unwrap().until(now), SHORTEST);
        assert!(!retry.is_due(now));
    }
}
