//! What a method receives and returns.

use std::{borrow::Cow, collections::BTreeMap, fmt, ops::Deref, sync::Mutex};

use serde_json::{Map, Value};

use crate::{
    caller::Progress,
    context::CallContext,
    failure::Failure,
    future::BoxFuture,
    ids::CommitId,
    store::{Change, Document, DocumentHistory, Snapshot},
};

/// A reading tool's method on an implementation `S`, its future on the heap.
pub type ReadingMethod<S, Request, Response, Error> =
    for<'c> fn(&'c S, &'c ReadCx<'c>, Request) -> BoxFuture<'c, Result<Response, Error>>;

/// A mutating tool's method on an implementation `S`, its future on the heap.
pub type MutatingMethod<S, Request, Response, Error> =
    for<'c> fn(&'c S, &'c WriteCx<'c>, Request) -> BoxFuture<'c, Result<Staged<Response>, Error>>;

/// The context of a reading tool's method. It can't change anything.
pub struct ReadCx<'a> {
    call: &'a CallContext,
    snapshot: &'a dyn Snapshot,
    notes: &'a Notes,
}

impl<'a> ReadCx<'a> {
    pub(crate) fn new(call: &'a CallContext, snapshot: &'a dyn Snapshot, notes: &'a Notes) -> Self {
        Self {
            call,
            snapshot,
            notes,
        }
    }

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

    /// The document at `path` and how it became what it is; see [`Snapshot::history`].
    ///
    /// # Errors
    /// When the store keeps no history, or it can't be read.
    pub fn history(&self, path: &str, known: &dyn Fn(&str) -> bool) -> Result<DocumentHistory, Failure> {
        self.snapshot.history(path, known)
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

impl fmt::Debug for ReadCx<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadCx")
            .field("call", self.call)
            .finish_non_exhaustive()
    }
}

/// The context of a mutating tool's method: a [`ReadCx`] that can also stage a change.
#[derive(Debug)]
pub struct WriteCx<'a>(ReadCx<'a>);

impl<'a> WriteCx<'a> {
    pub(crate) fn new(call: &'a CallContext, snapshot: &'a dyn Snapshot, notes: &'a Notes) -> Self {
        Self(ReadCx::new(call, snapshot, notes))
    }
}

impl<'a> Deref for WriteCx<'a> {
    type Target = ReadCx<'a>;

    fn deref(&self) -> &ReadCx<'a> {
        &self.0
    }
}

impl WriteCx<'_> {
    /// Stages `change`; `respond` makes the answer once the commit is known.
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
    /// [past](ReadCx::history).
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
    commit: CommitId,
}

impl Receipt {
    pub(crate) fn new(commit: CommitId) -> Self {
        Self { commit }
    }

    /// Id of the commit.
    pub fn commit(&self) -> &CommitId {
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
