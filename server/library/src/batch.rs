//! Changes that are published together.

use std::{
    mem,
    sync::{Arc, OnceLock},
};

use tabellion_runtime::{Failure, StoreError};

use super::{pending::Pending, remote::shared::UNKNOWN};
use tabellion_platform::{FileLock, blocking};

/// The outcome of a change; unset until it was published.
pub(super) type Outcome = OnceLock<Result<(), StoreError>>;

/// Changes that are to be published together.
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// Excludes other processes, from the first plan on.
    pub(super) lock: Option<FileLock>,
    pub(super) pending: Option<Pending>,
    pub(super) members: Vec<Arc<Outcome>>,
}

impl Batch {
    /// Publishes the batch by `publish`, and sets the outcome of each member.
    pub(super) fn flush(&mut self, publish: impl FnOnce(Pending) -> Result<(), StoreError>) {
        let Self { lock, pending, members } = mem::take(self);
        let Some(pending) = pending.filter(|_| !members.is_empty()) else {
            return;
        };
        let outcome = blocking(|| publish(pending));
        drop(lock);
        let outcome = match outcome {
            // The change may be made already, or must be planned on another state: a separate retry would fare no better.
            Err(StoreError::Behind) => Err(StoreError::Behind),
            Err(StoreError::Failure(failure)) if is_unknown(&failure) => Err(failure.into()),
            // Made again one by one, which shows whose failure it is.
            Err(_) if members.len() > 1 => Err(StoreError::Conflict),
            outcome => outcome,
        };
        for member in members {
            // Only set here, so it is unset.
            let _ = member.set(outcome.clone());
        }
    }

    /// Returns true if no caller waits for this batch any more.
    pub(super) fn is_abandoned(&self) -> bool {
        self.members.iter().all(|member| Arc::strong_count(member) == 1)
    }
}

/// Returns true if the change may have been made nevertheless.
fn is_unknown(failure: &Failure) -> bool {
    failure.data.get("rule").is_some_and(|rule| rule == UNKNOWN)
}
