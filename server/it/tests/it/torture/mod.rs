//! Stress tests: faults, full disks, many servers, concurrent work of a person, unusual repositories, a long life.
//!
//! Each test has a short form, which runs with all tests, and a long form, which `cargo lab torture` runs. A failure prints
//! its seed: `cargo lab torture --seed N` repeats it.

#[cfg(target_os = "linux")]
mod batch;
mod beginnings;
mod calls;
#[cfg(target_os = "linux")]
mod cases;
mod client;
mod crowds;
mod described;
mod dice;
#[cfg(target_os = "linux")]
mod disk;
mod editor;
#[cfg(target_os = "linux")]
mod executions;
#[cfg(target_os = "linux")]
mod faults;
mod git_beside;
mod history;
#[cfg(target_os = "linux")]
mod index;
mod judge;
mod life;
#[cfg(target_os = "linux")]
mod limits;
#[cfg(target_os = "linux")]
pub(crate) mod mount;
mod person;
#[cfg(target_os = "linux")]
mod rows;
mod states;

use std::{
    env,
    time::{Duration, Instant},
};

/// Environment variable with the time limit of each test in seconds; its presence selects the long form.
const SECONDS: &str = "TABELLION_TORTURE_SECONDS";
/// Environment variable with the seed of random choices.
const SEED: &str = "TABELLION_TORTURE_SEED";

/// The effort of a test.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effort {
    /// The seed of random choices.
    pub(crate) seed: u64,
    /// The end of the long form; the short form has fixed counts.
    until: Option<Instant>,
}

impl Effort {
    /// Reads the effort from the environment.
    pub(crate) fn from_environment() -> Self {
        let number = |name: &str| env::var(name).ok()?.parse().ok();
        Self {
            seed: number(SEED).unwrap_or(1),
            until: number(SECONDS).map(|seconds| Instant::now() + Duration::from_secs(seconds)),
        }
    }

    /// Returns `short` in the short form, `long` in the long form.
    pub(crate) fn pick<T>(self, short: T, long: T) -> T {
        if self.until.is_some() { long } else { short }
    }

    /// Returns `some` in the short form, in the long form `all` in random order, so that a time limit does not always skip the same
    /// items.
    pub(crate) fn choose<T>(
        self,
        some: impl IntoIterator<Item = T>,
        all: impl IntoIterator<Item = T>,
    ) -> Vec<T> {
        if self.until.is_none() {
            return some.into_iter().collect();
        }
        let mut all: Vec<T> = all.into_iter().collect();
        for at in (1..all.len()).rev() {
            all.swap(at, self.chance(at as u64, at as u64 + 1) as usize);
        }
        all
    }

    /// Returns true if the long form's time is over; always false in the short form.
    pub(crate) fn is_over(self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }

    /// Returns the `at`-th pseudo-random number of this seed, below `below`.
    pub(crate) fn chance(self, at: u64, below: u64) -> u64 {
        // SplitMix64.
        let mut z = (self.seed.wrapping_add(at)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % below.max(1)
    }
}
