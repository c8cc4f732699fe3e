//! Pauses that let machines take turns at changing one library.
//!
//! The winner of a push needs no fetch, and so wins again. Growing waits of the losers make that worse: the longest waiting one
//! waits longest. So the winner pauses once others are active, and losers retry soon.

use std::{
    hash::{BuildHasher, RandomState},
    time::{Duration, Instant},
};

/// Time for which other machines count as active after one of their commits was seen.
const ACTIVE: Duration = Duration::from_secs(60);
/// The number of successes in a row after which this machine pauses in any case.
const STREAK: u32 = 8;

/// Durations and outcomes of the last pushes.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    push: Duration,
    fetch: Duration,
    /// Earliest start of the next batch after a success.
    next: Option<Instant>,
    /// Time at which a commit of others was seen.
    others: Option<Instant>,
    streak: u32,
}

impl Waiting {
    pub(super) fn fetched(&mut self, took: Duration) {
        self.fetch = took;
    }

    pub(super) fn won(&mut self, took: Duration) {
        self.push = took;
        self.streak += 1;
        let are_active = self.others.is_some_and(|seen| seen.elapsed() < ACTIVE);
        let pauses = are_active || self.streak.is_multiple_of(STREAK);
        let pause = (self.push + self.fetch).mul_f64(0.8 + 0.8 * chance());
        self.next = pauses.then(|| Instant::now() + pause);
    }

    pub(super) fn lost(&mut self) {
        self.others = Some(Instant::now());
        self.streak = 0;
        self.next = None;
    }

    /// Returns the pause before a batch whose first change has lost `behind` times.
    pub(super) fn pause(&self, behind: u32) -> Duration {
        if behind > 0 {
            return (self.push + self.fetch).mul_f64(chance() / f64::from(behind));
        }
        let now = Instant::now();
        self.next.map_or(Duration::ZERO, |next| next.saturating_duration_since(now))
    }
}

/// Returns a number from 0 to 1 that differs between processes and threads.
fn chance() -> f64 {
    RandomState::new().hash_one(()) as f64 / u64::MAX as f64
}
