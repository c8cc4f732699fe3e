//! What a handler is given and what it gives back.

use std::{borrow::Cow, collections::BTreeMap, fmt, sync::Mutex};

use serde_json::{Map, Value};

use crate::{
    caller::Progress,
    context::CallContext,
    failure::Failure,
    store::{Change, Document, Past, Snapshot},
};

/// What a reading tool's method is given. It can't change anything.
pub struct ReadCx<'a> {
    pub(crate) call: &'a CallContext,
    pub(crate) snapshot: &'a dyn Snapshot,
    pub(crate) notes: &'a Notes,
}

/// What a mutating tool's method is given: as [`ReadCx`], and the means to say what should change.
pub struct WriteCx<'a> {
    pub(crate) call: &'a CallContext,
    pub(crate) snapshot: &'a dyn Snapshot,
    pub(crate) notes: &'a Notes,
}

macro_rules! context {
    ($name:ident) => {
        impl $name<'_> {
            /// Who calls, and under which conditions.
            pub fn call(&self) -> &CallContext {
                self.call
            }

            /// The document at `path`, or `None` where there is none.
            ///
            /// # Errors
            /// When `path` is not one of the store's, or the document can't be read.
            pub fn read(&self, path: &str) -> Result<Option<Document>, Failure> {
                self.snapshot.read(path)
            }

            /// The document at `path` and how it became what it is; see [`Snapshot::past`].
            ///
            /// # Errors
            /// When the store keeps no history, or it can't be read.
            pub fn past(&self, path: &str, known: &dyn Fn(&str) -> bool) -> Result<Past, Failure> {
                self.snapshot.past(path, known)
            }

            /// The bytes of one of the contents that the document at `path` has had.
            ///
            /// # Errors
            /// When there is no such content, or it can't be read.
            pub fn past_content(&self, path: &str, id: &str) -> Result<Vec<u8>, Failure> {
                self.snapshot.past_content(path, id)
            }

            /// Whether the caller has given up waiting: whatever takes long should end, its answer is not sent.
            pub fn is_cancelled(&self) -> bool {
                self.call.is_cancelled()
            }

            /// Tells the caller that `done` of `total`, where that is known, is done. May be called often: what a
            /// caller hears of it, if it wants to hear anything, is limited elsewhere.
            pub fn progress(&self, done: u64, total: Option<u64>, message: impl Into<Cow<'static, str>>) {
                self.call.progress(Progress {
                    done,
                    total,
                    message: message.into(),
                });
            }

            /// Puts `value` under `key` into the answer's `_meta`.
            pub fn note(&self, key: &'static str, value: impl Into<Value>) {
                self.notes.put(key, value.into());
            }
        }

        impl fmt::Debug for $name<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name))
                    .field("call", self.call)
                    .finish_non_exhaustive()
            }
        }
    };
}
context!(ReadCx);
context!(WriteCx);

impl WriteCx<'_> {
    /// Says what should change, and how to answer once its commit is known.
    pub fn stage<T>(
        &self,
        change: Change,
        respond: impl FnOnce(&Receipt) -> T + Send + 'static,
    ) -> Staged<T> {
        Staged {
            change,
            details: Map::new(),
            respond: Box::new(respond),
        }
    }
}

/// A change that a handler wants, and the response that will be true when it has been made.
#[must_use = "a change that is not returned is not made"]
pub struct Staged<T> {
    pub(crate) change: Change,
    pub(crate) details: Map<String, Value>,
    pub(crate) respond: Box<dyn FnOnce(&Receipt) -> T + Send>,
}

impl<T> Staged<T> {
    /// The same, with what the log is to keep of it for programs: it is found again in the document's
    /// [past](ReadCx::past).
    pub fn with_details(mut self, details: Map<String, Value>) -> Self {
        self.details = details;
        self
    }
}

impl<T> fmt::Debug for Staged<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Staged")
            .field("change", &self.change)
            .finish_non_exhaustive()
    }
}

/// The commit of a staged change. Only the runtime makes one.
#[derive(Debug)]
pub struct Receipt {
    commit: String,
}

impl Receipt {
    pub(crate) fn new(commit: String) -> Self {
        Self { commit }
    }

    /// Id of the commit.
    pub fn commit(&self) -> &str {
        &self.commit
    }
}

/// What a handler wants said in the answer's `_meta`.
#[derive(Debug, Default)]
pub(crate) struct Notes(Mutex<BTreeMap<&'static str, Value>>);

impl Notes {
    pub(crate) fn put(&self, key: &'static str, value: Value) {
        self.0
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
            .insert(key, value);
    }

    pub(crate) fn take(self) -> Map<String, Value> {
        let notes = self
            .0
            .into_inner()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        notes
            .into_iter()
            .map(|(key, value)| (key.to_string(), value))
            .collect()
    }
}
