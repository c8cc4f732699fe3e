//! The context and the result of a method.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    fmt,
    ops::Deref,
    sync::{Mutex, PoisonError},
};

use serde_json::{Map, Value};

use crate::{
    caller::Progress,
    context::{CallContext, PATH},
    failure::Failure,
    future::BoxFuture,
    gates::Report,
    ground::{Documents, Ground},
    ids::CommitId,
    meta::WARNINGS,
    provenance::{NO_PROVENANCE, Provenance},
    snapshot::{Document, DocumentHistory, Until},
    spec::Fact,
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

    /// Returns the view that the method reads through.
    pub fn view(&self) -> G::View<'a> {
        self.view
    }

    /// Returns the call's context: caller and conditions.
    pub fn call(&self) -> &CallContext {
        self.call
    }

    /// Returns the call's provenance; empty if the tool does not use it.
    pub fn provenance(&self) -> &Provenance {
        self.call.provenance.as_deref().unwrap_or(&NO_PROVENANCE)
    }

    /// As [`CallContext::stop`].
    pub fn stop(&self) -> impl Fn() -> bool + Send + Sync + '_ {
        self.call.stop()
    }

    /// Reports that `done` of `total`, if that is known, is done. Can be called often: the transport limits the messages.
    pub fn progress(&self, done: u64, total: Option<u64>, message: impl Into<Cow<'static, str>>) {
        self.call.progress(Progress { done, total, message: message.into() });
    }

    /// Returns the verdict of the operation's gates before this method. Only an approved call reaches the method; parts of it may require a
    /// review.
    pub fn gates(&self) -> &Report {
        &self.notes.report
    }

    /// Adds a fact that only this method knows, for the clauses that are judged after it.
    pub fn fact(&self, fact: Fact, value: impl Into<Value>) {
        let mut facts = self.notes.facts.lock().unwrap_or_else(PoisonError::into_inner);
        facts.insert(fact.to_string(), value.into());
    }

    /// Puts `value` under `key` into the answer's `_meta`.
    pub fn note(&self, key: &'static str, value: impl Into<Value>) {
        self.notes.put(key, value.into());
    }

    /// Adds warnings to those in `_meta`.
    pub fn warn(&self, warnings: impl IntoIterator<Item = Option<String>>) {
        for warning in warnings.into_iter().flatten() {
            self.notes.push(WARNINGS, warning.into());
        }
    }
}

impl ReadCx<'_> {
    /// Reads the document at `path`, if it exists.
    ///
    /// # Errors
    /// If `path` is invalid, or the document can't be read.
    pub fn read(&self, path: &str) -> Result<Option<Document>, Failure> {
        self.view.read(path)
    }

    /// Returns the stored path of the document that `path` names, and notes it under [`PATH`] if the spelling differs.
    ///
    /// # Errors
    /// If `path` is invalid, or the store can't be read.
    pub fn true_path(&self, path: &str) -> Result<String, Failure> {
        let found = self.view.true_path(path)?;
        if found != path {
            self.note(PATH, found.as_str());
        }
        Ok(found)
    }

    /// Returns the document at `path` and its history; see [`Snapshot::history`](crate::Snapshot::history).
    ///
    /// # Errors
    /// If the store has no history, or it can't be read.
    pub fn history(&self, path: &str, until: Until<'_>) -> Result<DocumentHistory, Failure> {
        self.view.history(path, until)
    }

    /// Returns the details that the first call added to its log entry, if this call repeats one.
    pub fn first_call(&self) -> Option<&Map<String, Value>> {
        self.view.first_call()
    }

    /// Returns the bytes of an earlier content of the document at `path`.
    ///
    /// # Errors
    /// If the content does not exist, or can't be read.
    pub fn past_content(&self, path: &str, id: &str) -> Result<Vec<u8>, Failure> {
        self.view.past_content(path, id)
    }
}

impl<G: Ground> fmt::Debug for ReadCx<'_, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadCx").field("call", self.call).finish_non_exhaustive()
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
        Staged { change, details: Map::new(), respond: Box::new(respond) }
    }
}

impl<'a, G: Ground> Deref for WriteCx<'a, G> {
    type Target = ReadCx<'a, G>;

    fn deref(&self) -> &ReadCx<'a, G> {
        &self.0
    }
}

/// A change that a method returned and that is not yet published, with the response to give once it is.
#[must_use = "a change that is not returned is not made"]
pub struct Staged<T, G: Ground = Documents> {
    pub(crate) change: G::Change,
    pub(crate) details: Map<String, Value>,
    pub(crate) respond: Box<dyn FnOnce(&Receipt) -> T + Send>,
}

impl<T, G: Ground> Staged<T, G> {
    /// Adds details for programs to the log entry; [`ReadCx::history`] returns them.
    pub fn with_details(mut self, details: Map<String, Value>) -> Self {
        self.details = details;
        self
    }
}

impl<T, G: Ground> fmt::Debug for Staged<T, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Staged").field("change", &self.change).finish_non_exhaustive()
    }
}

/// The commit of a staged change. Only the runtime creates one.
#[derive(Debug)]
pub struct Receipt {
    commit: CommitId,
}

impl Receipt {
    pub(crate) fn new(commit: CommitId) -> Self {
        Self { commit }
    }

    /// Returns the commit's id.
    pub fn commit(&self) -> &CommitId {
        &self.commit
    }
}

/// A method's additions to its answer: members of `_meta`, and facts for its gates.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    meta: Mutex<BTreeMap<&'static str, Value>>,
    facts: Mutex<Map<String, Value>>,
    /// The gates' verdict before the method.
    report: Report,
}

impl Notes {
    /// Returns the notes of a call with this verdict of the gates.
    pub(crate) fn under(report: Report) -> Self {
        Self { report, ..Self::default() }
    }

    pub(crate) fn put(&self, key: &'static str, value: Value) {
        let mut meta = self.meta.lock().unwrap_or_else(PoisonError::into_inner);
        meta.insert(key, value);
    }

    /// Adds a value to the array under `key`.
    fn push(&self, key: &'static str, value: Value) {
        let mut meta = self.meta.lock().unwrap_or_else(PoisonError::into_inner);
        if let Value::Array(values) = meta.entry(key).or_insert_with(|| Value::Array(Vec::new())) {
            values.push(value);
        }
    }

    pub(crate) fn remove(&self, key: &str) {
        self.meta.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }

    /// Returns the method's facts.
    pub(crate) fn facts(&self) -> Map<String, Value> {
        let facts = self.facts.lock().unwrap_or_else(PoisonError::into_inner);
        facts.clone()
    }

    pub(crate) fn take(self) -> Map<String, Value> {
        let notes = self.meta.into_inner().unwrap_or_else(PoisonError::into_inner);
        notes.into_iter().map(|(key, value)| (key.to_string(), value)).collect()
    }
}
