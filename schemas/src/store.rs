//! What a place that keeps documents must be able to do, so that the runtime can change it.
//!
//! A handler never sees these traits: it reads through its context and returns what it wants changed. Only
//! [`dispatch`](crate::dispatch) prepares and publishes.

use crate::{call::CallContext, dispatch::BoxFuture, failure::Failure};

/// The bytes of one document and the id of their content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// The bytes, as they are kept.
    pub bytes: Vec<u8>,
    /// Id of these bytes, the same wherever and whenever they occur (in a git library: the blob's).
    pub id: String,
}

/// Documents that can be read.
pub trait Snapshot: Send + Sync {
    /// The document at `path`, or `None` where there is none.
    ///
    /// # Errors
    /// When `path` is not one of the store's, or the document can't be read.
    fn read(&self, path: &str) -> Result<Option<Document>, Failure>;
}

/// A place that keeps documents. Read directly, it shows the newest state.
pub trait Store: Snapshot {
    /// Waits for the sole right to change the store.
    ///
    /// `attempt` counts from 0 for each call; a higher one follows a [`Setback::Moved`] and may wait a little first.
    ///
    /// # Errors
    /// When the store can't be changed now: it is busy, broken or in a state that forbids it.
    fn begin<'a>(&'a self, attempt: u32) -> BoxFuture<'a, Result<Box<dyn Session + 'a>, Failure>>;

    /// How a person is shown what becomes of the document at `path`; `None` is a document that is not there.
    fn difference(&self, path: &str, old: Option<&[u8]>, new: Option<&[u8]>) -> String;
}

/// The sole right to change a store. Reading through it shows the state that the change will be applied to.
///
/// Until [`publish`](Self::publish), nothing that anybody can see has changed, and dropping it leaves no trace.
pub trait Session: Snapshot {
    /// What an earlier call with this idempotency key did, if there was one.
    ///
    /// # Errors
    /// [`Conflict`](crate::FailureKind::Conflict) when the key was used for a `request` other than this one;
    /// [`Setback::Moved`] while it can't be told yet.
    fn replay(&self, key: &str, request: &str) -> Result<Option<Replay>, Setback>;

    /// Works out the commit that would make `change`, and its id.
    ///
    /// # Errors
    /// When the change can't be made.
    fn prepare(&mut self, change: &Change, entry: &Entry<'_>) -> Result<Prepared, Setback>;

    /// Makes the prepared change, perhaps together with those of other callers: when the future is `Ok`, it is durable
    /// and everybody can see it.
    ///
    /// # Errors
    /// After an error, nothing has changed.
    fn publish<'a>(self: Box<Self>) -> BoxFuture<'a, Result<(), Setback>>
    where
        Self: 'a;
}

/// Why a change was not made.
#[derive(Debug, Clone, PartialEq)]
pub enum Setback {
    /// Somebody changed the documents meanwhile: plan again on the new state.
    Moved,
    /// It can't be made.
    Failure(Failure),
}

impl From<Failure> for Setback {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

/// What a handler wants changed: one document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The document's path, as the store names it.
    pub path: String,
    /// What to do with it.
    pub content: Content,
    /// What is done, in one word of the field: `append`, `replace_section`, `delete`.
    pub operation: &'static str,
    /// What is done, in one line for people.
    pub summary: String,
}

/// A document's bytes after a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// These bytes.
    Write(Vec<u8>),
    /// There is no such document any more.
    Delete,
}

/// What the log keeps of a call beside the change itself.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// Name of the tool that was called.
    pub tool: &'static str,
    /// Who called it.
    pub call: &'a CallContext,
    /// The request in its normal form, where the call carries an idempotency key.
    pub request: Option<&'a str>,
}

/// A change that has been worked out and not been made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prepared {
    /// Id that the commit will have.
    pub commit: String,
    /// Id of the content that the document has now, or `None` where there is none yet.
    pub base: Option<String>,
    /// Id of the content that it will have, or `None` where it is deleted.
    pub content: Option<String>,
}

/// An earlier call with the same idempotency key.
pub struct Replay {
    /// The commit that it made.
    pub commit: String,
    /// The documents as that call found them.
    pub before: Box<dyn Snapshot>,
}
