//! Pseudo-random numbers, the same in each run with the same seed.

use std::time::Duration;

use super::Effort;

/// A sequence of pseudo-random numbers.
#[derive(Debug, Clone)]
pub(super) struct Dice {
    effort: Effort,
    at: u64,
}

impl Dice {
    /// Returns the `row`-th sequence of the effort's seed.
    pub(super) fn new(effort: Effort, row: u64) -> Self {
        Self { effort, at: row << 32 }
    }

    /// Returns the next number, below `below`.
    pub(super) fn roll(&mut self, below: u64) -> u64 {
        self.at += 1;
        self.effort.chance(self.at, below)
    }

    /// Returns a time between `least` and `most`.
    pub(super) fn time(&mut self, least: Duration, most: Duration) -> Duration {
        let span = u64::try_from((most - least).as_micros()).expect("a short time");
        least + Duration::from_micros(self.roll(span + 1))
    }
}
