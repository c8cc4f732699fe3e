//! Counters of a library's work since it was opened.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counters of a library's work since it was opened. They are read without synchronization.
#[derive(Debug, Default)]
pub struct Counts {
    commits: AtomicU64,
    conflicts: AtomicU64,
    recoveries: AtomicU64,
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
