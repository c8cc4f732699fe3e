//! The waiting side of a call: cancellation and progress.

use std::{borrow::Cow, fmt, sync::Arc};

/// The progress of a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Progress {
    /// Amount done, in any unit. It only grows.
    pub done: u64,
    /// Total amount, if it is known.
    pub total: Option<u64>,
    /// What is being done, for people.
    pub message: Cow<'static, str>,
}

/// The waiting side of a call. Methods may be called from any thread, and often.
pub trait Caller: Send + Sync {
    /// Returns whether the call was cancelled.
    fn has_cancelled(&self) -> bool;

    /// Receives progress. Reports that do not grow are ignored.
    fn hear(&self, progress: Progress);
}

/// A caller, or none: the call is then never cancelled, and progress is dropped.
#[derive(Clone, Default)]
pub struct Waiting(pub(crate) Option<Arc<dyn Caller>>);

impl fmt::Debug for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Waiting" } else { "NotWaiting" })
    }
}
