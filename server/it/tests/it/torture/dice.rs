//! Random numbers, reproducible by their seed, in a separate sequence for each user.

use std::time::Duration;

use super::Effort;

/// A row of numbers.
#[derive(Debug, Clone)]
pub(super) struct Dice {
    effort: Effort,
    at: u64,
}

impl Dice {
    /// The `row`-th row of the effort's seed.
    pub(super) fn new(effort: Effort, row: u64) -> Self {
        Self {
            effort,
            at: row << 32,
        }
    }

    /// The next number, below `below`.
    pub(super) fn roll(&mut self, below: u64) -> u64 {
        self.at += 1;
        self.effort.chance(self.at, below)
    }

    /// A time between `least` and `most`.
    pub(super) fn time(&mut self, least: Duration, most: Duration) -> Duration {
        let span = u64::try_from((most - least).as_micros()).expect("a short time");
        least + Duration::from_micros(self.roll(span + 1))
    }
}
