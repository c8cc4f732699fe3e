//! What a place that keeps documents must be able to do, so that the runtime can change it.
//!
//! A handler never sees these traits: it reads through its context and returns what it wants changed. Only
//! [`dispatch`](crate::dispatch) prepares and publishes.

use chrono::{DateTime, FixedOffset};
use serde_json::{Map, Value};

use crate::{
    context::CallContext,
    failure::{Failure, FailureKind},
    future::BoxFuture,
    ids::{CommitId, ContentId, IdempotencyKey},
};

/// The bytes of one document and the id of their content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// The bytes, as they are kept.
    pub bytes: Vec<u8>,
    /// Id of the bytes.
    pub id: ContentId,
}

/// Documents that can be read.
pub trait Snapshot: Send + Sync {
    /// The document at `path`, or `None` where there is none.
    ///
    /// # Errors
    /// When `path` is not one of the store's, or the document can't be read.
    fn read(&self, path: &str) -> Result<Option<Document>, Failure>;

    /// The document at `path` and how it became what it is, back to a commit that `known` says is known already, or to
    /// the beginning.
    ///
    /// # Errors
    /// When the store keeps no history, or it can't be read.
    fn history(&self, path: &str, known: &dyn Fn(&str) -> bool) -> Result<DocumentHistory, Failure> {
        let _ = known;
        Err(no_history(path))
    }

    /// The bytes of one of the contents that the document at `path` has had, by its id in [`DocumentHistory`].
    ///
    /// # Errors
    /// When there is no such content, or it can't be read.
    fn past_content(&self, path: &str, id: &str) -> Result<Vec<u8>, Failure> {
        let _ = id;
        Err(no_history(path))
    }
}

fn no_history(path: &str) -> Failure {
    Failure::new(
        FailureKind::Refused,
        format!("nothing is kept of what `{path}` was before"),
    )
}

/// How a document became what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentHistory {
    /// The document; `None` where there is none.
    pub document: Option<Document>,
    /// Id of its content, as the history would keep it: that of the newest version, unless something is not committed
    /// yet.
    pub now: Option<ContentId>,
    /// The newest commit of the store, whether it changed the document or not; `None` before the first one.
    pub state: Option<CommitId>,
    /// The known commit that `versions` follow; `None` when they go back to the beginning.
    pub since: Option<CommitId>,
    /// What the document has been, oldest first.
    pub versions: Vec<Version>,
}

/// What a commit made of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// Id of the commit.
    pub commit: CommitId,
    /// Who made it.
    pub author: String,
    /// When.
    pub time: DateTime<FixedOffset>,
    /// Id of the content; `None` where the commit deleted the document.
    pub content: Option<ContentId>,
    /// The log entry, where the commit is the change of a tool and nothing else.
    pub entry: Option<VersionEntry>,
}

/// What the log keeps of a tool's change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionEntry {
    /// Name of the tool that was called.
    pub tool: String,
    /// What was done, in one word.
    pub operation: String,
    /// What the tool wanted to be kept.
    pub details: Map<String, Value>,
}

/// A place that keeps documents. Read directly, it shows the newest state.
pub trait Store: Snapshot {
    /// Waits for the sole right to change the store.
    ///
    /// `attempt` counts from 0 for each call; a higher one follows a [`StoreError::Conflict`] and may wait a little first.
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
    /// [`StoreError::Conflict`] while it can't be told yet.
    fn replay(&self, key: &IdempotencyKey, request: &str) -> Result<Option<Replay>, StoreError>;

    /// Works out the commit that would make `change`, and its id.
    ///
    /// # Errors
    /// When the change can't be made.
    fn prepare(&mut self, change: &Change, entry: &Entry<'_>) -> Result<Prepared, StoreError>;

    /// Makes the prepared change, perhaps together with those of other callers: when the future is `Ok`, it is durable
    /// and everybody can see it.
    ///
    /// # Errors
    /// After an error, nothing has changed.
    fn publish<'a>(self: Box<Self>) -> BoxFuture<'a, Result<(), StoreError>>
    where
        Self: 'a;
}

/// Why a change was not made.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum StoreError {
    /// Another change was published meanwhile: work this one out again on the new state.
    #[error("another change was published first")]
    Conflict,
    /// The change can't be made.
    #[error(transparent)]
    Failure(#[from] Failure),
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
    /// What the tool wants to be kept; may be empty.
    pub details: &'a Map<String, Value>,
}

/// A change that has been worked out and not been made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prepared {
    /// Id that the commit will have.
    pub commit: CommitId,
    /// Id of the content that the document has now, or `None` where there is none yet.
    pub base: Option<ContentId>,
    /// Id of the content that it will have, or `None` where it is deleted.
    pub content: Option<ContentId>,
}

/// An earlier call with the same idempotency key.
pub struct Replay {
    /// The commit that it made.
    pub commit: CommitId,
    /// The documents as that call found them.
    pub before: Box<dyn Snapshot>,
}
