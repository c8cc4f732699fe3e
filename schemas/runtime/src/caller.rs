//! Whoever waits for the answer to a call: it may give up waiting, and it may want to know how far the call is.

use std::{borrow::Cow, fmt, sync::Arc};

/// How far a call is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Progress {
    /// How much is done, in whatever unit. It only grows.
    pub done: u64,
    /// How much there is to do, where that is known.
    pub total: Option<u64>,
    /// What is being done, for a person.
    pub message: Cow<'static, str>,
}

/// Whoever waits for the answer to a call. Asked and told from any thread, as often as a handler likes.
pub trait Caller: Send + Sync {
    /// Whether the answer is no longer wanted.
    fn has_cancelled(&self) -> bool;

    /// How far the call is. What is not larger than before is not news.
    fn hear(&self, progress: Progress);
}

/// A caller, or nobody: who then never cancels and hears nothing.
#[derive(Clone, Default)]
pub struct Waiting(pub(crate) Option<Arc<dyn Caller>>);

impl fmt::Debug for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Waiting" } else { "Nobody" })
    }
}
