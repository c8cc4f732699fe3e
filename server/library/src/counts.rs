//! What a library has done since it was opened, in numbers.

use std::sync::atomic::{AtomicU64, Ordering};

/// What a library has done since it was opened. Clones of a number may be behind by what is just being done.
#[derive(Debug, Default)]
pub struct Counts {
    commits: AtomicU64,
    conflicts: AtomicU64,
    recoveries: AtomicU64,
}

impl Counts {
    /// Changes that were published, each with a commit.
    pub fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }

    /// Changes that had to be planned again, since somebody else was faster.
    pub fn conflicts(&self) -> u64 {
        self.conflicts.load(Ordering::Relaxed)
    }

    /// Changes of a process that died, which were finished or undone.
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
