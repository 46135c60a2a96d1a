//! Samples and what is read off them.

use std::time::Duration;

/// Durations of one thing, in rounds. Other work on the machine disturbs whole rounds, so ratios are taken round by round.
#[derive(Debug, Clone, Default)]
pub(crate) struct Samples {
    rounds: Vec<Vec<Duration>>,
}

impl Samples {
    pub(crate) fn begin_round(&mut self) {
        self.rounds.push(Vec::new());
    }

    pub(crate) fn add(&mut self, sample: Duration) {
        if self.rounds.is_empty() {
            self.begin_round();
        }
        if let Some(round) = self.rounds.last_mut() {
            round.push(sample);
        }
    }

    /// Of all samples.
    pub(crate) fn percentile(&self, percent: usize) -> Duration {
        percentile(self.rounds.iter().flatten().copied().collect(), percent)
    }

    /// The lowest median of a round: the least disturbed one.
    pub(crate) fn best(&self) -> Duration {
        self.medians().into_iter().min().unwrap_or_default()
    }

    /// The median of each round.
    pub(crate) fn medians(&self) -> Vec<Duration> {
        self.rounds
            .iter()
            .map(|round| percentile(round.clone(), 50))
            .collect()
    }

    pub(crate) fn count(&self) -> usize {
        self.rounds.iter().map(Vec::len).sum()
    }
}

fn percentile(mut samples: Vec<Duration>, percent: usize) -> Duration {
    samples.sort_unstable();
    let index = samples.len().saturating_sub(1) * percent / 100;
    samples.get(index).copied().unwrap_or_default()
}

/// The median of the rounds' ratios of medians.
pub(crate) fn median_ratio(subject: &Samples, floor: &[Duration]) -> f64 {
    let ratios = subject.medians().into_iter().zip(floor);
    let mut ratios: Vec<f64> = ratios
        .filter(|(_, floor)| !floor.is_zero())
        .map(|(subject, floor)| subject.as_secs_f64() / floor.as_secs_f64())
        .collect();
    median(&mut ratios)
}

pub(crate) fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values
        .get(values.len().saturating_sub(1) / 2)
        .copied()
        .unwrap_or(f64::NAN)
}
