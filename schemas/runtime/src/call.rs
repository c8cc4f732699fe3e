//! What a method receives and returns.

use std::{borrow::Cow, collections::BTreeMap, fmt, ops::Deref, sync::Mutex};

use serde_json::{Map, Value};

use crate::{
    caller::Progress,
    context::CallContext,
    failure::Failure,
    future::BoxFuture,
    ground::{Documents, Ground},
    ids::CommitId,
    snapshot::{Document, DocumentHistory},
};

/// A reading tool's method on an implementation `S`, its future on the heap.
pub type ReadingMethod<S, Request, Response, Error, G = Documents> =
    for<'c> fn(&'c S, &'c ReadCx<'c, G>, Request) -> BoxFuture<'c, Result<Response, Error>>;

/// A mutating tool's method on an implementation `S`, its future on the heap.
pub type MutatingMethod<S, Request, Response, Error, G = Documents> =
    for<'c> fn(&'c S, &'c WriteCx<'c, G>, Request) -> BoxFuture<'c, Result<Staged<Response, G>, Error>>;

/// The context of a reading tool's method. It can't change anything.
pub struct ReadCx<'a, G: Ground = Documents> {
    call: &'a CallContext,
    view: G::View<'a>,
    notes: &'a Notes,
}

impl<'a, G: Ground> ReadCx<'a, G> {
    pub(crate) fn new(call: &'a CallContext, view: G::View<'a>, notes: &'a Notes) -> Self {
        Self { call, view, notes }
    }

    /// What the method reads through.
    pub fn view(&self) -> G::View<'a> {
        self.view
    }

    /// Who calls, and under which conditions.
    pub fn call(&self) -> &CallContext {
        self.call
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

impl ReadCx<'_> {
    /// The document at `path`, or `None` where there is none.
    ///
    /// # Errors
    /// When `path` is not one of the store's, or the document can't be read.
    pub fn read(&self, path: &str) -> Result<Option<Document>, Failure> {
        self.view.read(path)
    }

    /// The document at `path` and how it became what it is; see [`Snapshot::history`](crate::Snapshot::history).
    ///
    /// # Errors
    /// When the store keeps no history, or it can't be read.
    pub fn history(&self, path: &str, known: &dyn Fn(&str) -> bool) -> Result<DocumentHistory, Failure> {
        self.view.history(path, known)
    }

    /// The bytes of one of the contents that the document at `path` has had.
    ///
    /// # Errors
    /// When there is no such content, or it can't be read.
    pub fn past_content(&self, path: &str, id: &str) -> Result<Vec<u8>, Failure> {
        self.view.past_content(path, id)
    }
}

impl<G: Ground> fmt::Debug for ReadCx<'_, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadCx")
            .field("call", self.call)
            .finish_non_exhaustive()
    }
}

/// The context of a mutating tool's method: a [`ReadCx`] that can also stage a change.
#[derive(Debug)]
pub struct WriteCx<'a, G: Ground = Documents>(ReadCx<'a, G>);

impl<'a, G: Ground> WriteCx<'a, G> {
    pub(crate) fn new(call: &'a CallContext, view: G::View<'a>, notes: &'a Notes) -> Self {
        Self(ReadCx::new(call, view, notes))
    }

    /// Stages `change`; `respond` makes the answer once the commit is known.
    pub fn stage<T>(
        &self,
        change: G::Change,
        respond: impl FnOnce(&Receipt) -> T + Send + 'static,
    ) -> Staged<T, G> {
        Staged {
            change,
            details: Map::new(),
            respond: Box::new(respond),
        }
    }
}

impl<'a, G: Ground> Deref for WriteCx<'a, G> {
    type Target = ReadCx<'a, G>;

    fn deref(&self) -> &ReadCx<'a, G> {
        &self.0
    }
}

/// A change that a method wants made, and the response that is true once it is.
#[must_use = "a change that is not returned is not made"]
pub struct Staged<T, G: Ground = Documents> {
    pub(crate) change: G::Change,
    pub(crate) details: Map<String, Value>,
    pub(crate) respond: Box<dyn FnOnce(&Receipt) -> T + Send>,
}

impl<T, G: Ground> Staged<T, G> {
    /// The same, with details that the log keeps for programs; [`ReadCx::history`] has them again.
    pub fn with_details(mut self, details: Map<String, Value>) -> Self {
        self.details = details;
        self
    }
}

impl<T, G: Ground> fmt::Debug for Staged<T, G> {
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
