//! Pauses by which machines that change one library at the same time take turns.
//!
//! The winner of a push needs no fetch, and so wins again. Waits of losers that grow make that worse: the longest waiting one waits longest. So
//! the winner pauses once others are about, and losers come again soon.

use std::{
    hash::{BuildHasher, RandomState},
    time::{Duration, Instant},
};

/// How long others are taken to be about after a commit of theirs was seen.
const OTHERS: Duration = Duration::from_secs(60);
/// The number of successes in a row after which this machine pauses in any case.
const STREAK: u32 = 8;

/// What the last pushes were like.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    push: Duration,
    fetch: Duration,
    won: Option<Instant>,
    others: Option<Instant>,
    streak: u32,
    /// Whether the pause after the last success was made.
    has_paused: bool,
}

impl Waiting {
    pub(super) fn fetched(&mut self, took: Duration) {
        self.fetch = took;
    }

    pub(super) fn won(&mut self, took: Duration) {
        self.push = took;
        self.won = Some(Instant::now());
        self.streak += 1;
        self.has_paused = false;
    }

    pub(super) fn lost(&mut self) {
        self.others = Some(Instant::now());
        self.streak = 0;
    }

    /// Returns the pause before an attempt that follows `behind` lost ones.
    pub(super) fn pause(&mut self, behind: u32) -> Duration {
        let turn = self.push + self.fetch;
        if behind > 0 {
            return turn.mul_f64(chance() / f64::from(behind));
        }
        let Some(won) = self.won.filter(|_| !self.has_paused) else {
            return Duration::ZERO;
        };
        let are_about = self.others.is_some_and(|seen| seen.elapsed() < OTHERS);
        if !are_about && !self.streak.is_multiple_of(STREAK) {
            return Duration::ZERO;
        }
        self.has_paused = true;
        turn.mul_f64(0.8 + 0.8 * chance()).saturating_sub(won.elapsed())
    }
}

/// Returns a number from 0 to 1 that differs between processes and threads.
fn chance() -> f64 {
    RandomState::new().hash_one(()) as f64 / u64::MAX as f64
}
