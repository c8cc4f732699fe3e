//! Brings the index of words up to date in the background, so that the first search after an import does not wait for it.

use std::{
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use tabellion_runtime::Failure;

use super::words::{self, Words};

/// How long the server is left to itself first: the handshake and the list of tools come before the index.
const DELAY: Duration = Duration::from_secs(1);
/// Number of changes up to which a search brings the index up to date itself, in a fraction of a second.
const MAX_LEFT_TO_SEARCH: i64 = 1000;

/// Begins to bring the index up to date, unless it lacks only a little. A search in the meantime waits until the index is complete.
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
            // The next search tries again, and tells its caller.
            Err(failure) => tracing::warn!("the index of words is behind: {failure}"),
        }
    };
    if let Err(error) = thread::Builder::new().name("words".into()).spawn(work) {
        tracing::warn!(%error, "the index of words is left to the first search: no thread can be started");
    }
}

impl Words {
    /// Brings the index up to date if it lacks more than `allowed` changes; returns how many it took.
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
            if lacks <= allowed {
                return Ok(0);
            }
            index.update(&self.rows, needed)?;
            Ok(lacks)
        };
        update().map_err(words::failure)
    }
}
