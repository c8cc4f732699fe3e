//! Counters of a library's work since it was opened.

use std::sync::atomic::{AtomicU64, Ordering};

use tabellion_remotes::Pushed;

/// Counters of a library's work since it was opened. They are read without synchronization.
#[derive(Debug, Default)]
pub struct Counts {
    commits: AtomicU64,
    conflicts: AtomicU64,
    recoveries: AtomicU64,
    /// Pushes that the remote accepted, rejected, and left unanswered.
    pushes: [AtomicU64; 3],
    /// Fetches that were answered and unanswered.
    fetches: [AtomicU64; 2],
}

impl Counts {
    /// Returns the number of published changes, one commit each.
    pub fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }

    /// Returns the number of changes planned again because another change was published first.
    pub fn conflicts(&self) -> u64 {
        self.conflicts.load(Ordering::Relaxed)
    }

    /// Returns the number of interrupted changes that were completed or undone.
    pub fn recoveries(&self) -> u64 {
        self.recoveries.load(Ordering::Relaxed)
    }

    /// Returns the numbers of pushes that the library's remote accepted, rejected, and left unanswered.
    pub fn pushes(&self) -> [u64; 3] {
        self.pushes.each_ref().map(|count| count.load(Ordering::Relaxed))
    }

    /// Returns the numbers of fetches that the library's remote answered, and left unanswered.
    pub fn fetches(&self) -> [u64; 2] {
        self.fetches.each_ref().map(|count| count.load(Ordering::Relaxed))
    }

    pub(super) fn pushed(&self, pushed: &Pushed) {
        let outcome = match pushed {
            Pushed::Accepted => 0,
            Pushed::Rejected(_) => 1,
            Pushed::Silent(_) => 2,
        };
        self.pushes[outcome].fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn fetched(&self, is_answered: bool) {
        self.fetches[usize::from(!is_answered)].fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn committed(&self) {
        self.commits.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn conflicted(&self) {
        self.conflicts.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn recovered(&self) {
        self.recoveries.fetch_add(1, Ordering::Relaxed);
    }
}
