//! Updates the index of words in the background, so that the first search after an import does not wait for it.

use std::{
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use tabellion_retrieval::Index;
use tabellion_runtime::Failure;

use super::words::{self, Words};

/// Delay before the update: the handshake and the list of tools come first.
const DELAY: Duration = Duration::from_secs(1);
/// Number of changes up to which a search updates the index itself, in a fraction of a second.
const MAX_LEFT_TO_SEARCH: i64 = 1000;

/// Begins to update the index, unless it lacks only a few changes. A search in the meantime waits until the index is complete.
pub(super) fn begin(words: &Arc<Words>) {
    let words = Arc::downgrade(words);
    let work = move || {
        thread::sleep(DELAY);
        // The server may have ended.
        let Some(words) = words.upgrade() else { return };
        let begun = Instant::now();
        match words.catch_up(MAX_LEFT_TO_SEARCH) {
            Ok(0) => {}
            Ok(changes) => {
                tracing::info!(changes, elapsed = ?begun.elapsed(), "the index of words is up to date")
            }
            // The next search tries again, and reports an error to its caller.
            Err(failure) => tracing::warn!("the index of words is behind: {failure}"),
        }
    };
    if let Err(error) = thread::Builder::new().name("words".into()).spawn(work) {
        tracing::warn!(%error, "the index of words is left to the first search: no thread can be started");
    }
}

/// Number of changes after which a new copy of the index is shared, if servers share copies.
const MAX_UNSHARED: i64 = 10_000;
/// Name of shared copies. Copies made by a different version are of no use.
const COPY: &str = concat!("words ", env!("CARGO_PKG_VERSION"));

impl Words {
    /// Begins with the copy of the index that another server of the team has shared, if there is one. Without it, the index is built from
    /// the rows; a copy of other rows, or a damaged one, is rebuilt like any other.
    pub(super) fn begin_with_shared(&self) {
        if let Err(failure) = self.rows.0.take_copy(COPY, &self.path) {
            tracing::warn!("the shared index of words can't be used: {failure}");
        }
    }

    /// Shares a copy of the index, if there were many changes since the last one.
    fn share(&self, index: &Index) {
        let share = || -> Result<(), Failure> {
            if self.rows.0.since_copy(COPY)?.is_none_or(|changes| changes < MAX_UNSHARED) {
                return Ok(());
            }
            let at = index.status().map_err(words::failure)?.at;
            self.rows.0.share_copy(COPY, at, &self.path.with_extension("copy"), |path| {
                index.copy_to(path).map_err(words::failure)
            })
        };
        if let Err(failure) = share() {
            tracing::warn!("the index of words is not shared: {failure}");
        }
    }

    /// Updates the index if it lacks more than `allowed` changes; returns the number of changes taken.
    ///
    /// # Errors
    /// If the rows can't be read, or the index can't be written.
    pub(super) fn catch_up(&self, allowed: i64) -> Result<i64, Failure> {
        let needed = self.rows.0.end()?;
        if needed <= allowed {
            // Even a missing index lacks no more; its file is left to the first search.
            return Ok(0);
        }
        let update = || {
            let index = self.index()?;
            let lacks = needed - index.status()?.at;
            if lacks > allowed {
                index.update(&self.rows, needed)?;
            }
            self.share(index);
            Ok(if lacks > allowed { lacks } else { 0 })
        };
        update().map_err(words::failure)
    }
}
