//! Fault injection and stress: faults, full disks, crowds, concurrent edits, odd repositories, a long life.
//!
//! Each test has a short form, which every test run executes, and a long one, for `cargo xtask torture`. A failure prints its
//! seed: `cargo xtask torture --seed N` repeats it.

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
mod faults;
mod git_beside;
mod history;
mod judge;
mod life;
#[cfg(target_os = "linux")]
mod limits;
#[cfg(target_os = "linux")]
mod mount;
mod person;
mod states;

use std::{
    env,
    time::{Duration, Instant},
};

/// Environment variable with how many seconds each test may take; its presence asks for the long form.
const SECONDS: &str = "TABELLION_TORTURE_SECONDS";
/// Environment variable with the seed of everything that is left to chance.
const SEED: &str = "TABELLION_TORTURE_SEED";

/// Duration and seed of a test.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effort {
    /// Seed of the random numbers.
    pub(crate) seed: u64,
    /// Until when the long form goes on; the short form has counts of its own.
    until: Option<Instant>,
}

impl Effort {
    /// Returns the settings in the environment.
    pub(crate) fn asked() -> Self {
        let number = |name: &str| env::var(name).ok()?.parse().ok();
        Self {
            seed: number(SEED).unwrap_or(1),
            until: number(SECONDS).map(|seconds| Instant::now() + Duration::from_secs(seconds)),
        }
    }

    /// `short` in the short form, `long` in the long one.
    pub(crate) fn pick<T>(self, short: T, long: T) -> T {
        if self.until.is_some() { long } else { short }
    }

    /// Whether the long form's time is over; never in the short form.
    pub(crate) fn is_over(self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }

    /// A number below `below`, the `at`-th of this seed: the same in each run.
    pub(crate) fn chance(self, at: u64, below: u64) -> u64 {
        // SplitMix64.
        let mut z = (self.seed.wrapping_add(at)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % below.max(1)
    }

    /// `all` in an order that is left to chance, so that what time does not suffice for is spread over everything.
    pub(crate) fn shuffled<T>(self, mut all: Vec<T>) -> Vec<T> {
        for at in (1..all.len()).rev() {
            all.swap(at, self.chance(at as u64, at as u64 + 1) as usize);
        }
        all
    }
}
