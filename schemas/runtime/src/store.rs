//! What a store must implement, so that the runtime can change it.
//!
//! A method never sees these traits: it reads through its context and returns what it wants changed. Only
//! [`dispatch`](crate::dispatch) prepares and publishes.

use serde_json::{Map, Value};

use crate::{
    context::CallContext,
    failure::Failure,
    future::BoxFuture,
    ground::{Documents, Ground, HasView},
    ids::{CommitId, ContentId, IdempotencyKey},
};

/// Keeps what contracts read and change. Its view is the newest state.
pub trait Store<G: Ground = Documents>: HasView<G> {
    /// Waits for the sole right to change the store.
    ///
    /// `attempt` counts from 0 for each call; a higher one follows a [`StoreError::Conflict`] and may wait a little first.
    ///
    /// # Errors
    /// When the store can't be changed now: it is busy, broken or in a state that forbids it.
    fn begin<'a>(&'a self, attempt: u32) -> BoxFuture<'a, Result<Box<dyn Session<G> + 'a>, Failure>>;

    /// Renders `change` of `before` for a person who is asked to approve.
    fn difference(&self, before: &G::Before, change: &G::Change) -> String;
}

/// The exclusive right to change a store. Its view is the state that the change will be applied to.
///
/// Until [`publish`](Self::publish), no reader sees a change, and dropping it leaves no trace.
pub trait Session<G: Ground = Documents>: HasView<G> {
    /// What an earlier call with this idempotency key did, if there was one.
    ///
    /// # Errors
    /// [`Conflict`](crate::FailureKind::Conflict) when the key was used for a `request` other than this one;
    /// [`StoreError::Conflict`] while it can't be told yet.
    fn replay(&self, key: &IdempotencyKey, request: &str) -> Result<Option<Replay<G>>, StoreError>;

    /// Works out the commit that would make `change`, and its id.
    ///
    /// # Errors
    /// When the change can't be made.
    fn prepare(&mut self, change: &G::Change, entry: &Entry<'_>) -> Result<Prepared, StoreError>;

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
pub struct Replay<G: Ground = Documents> {
    /// The commit that it made.
    pub commit: CommitId,
    /// The state that it found.
    pub before: Box<dyn HasView<G>>,
}
