//! The traits that a store implements.
//!
//! A method never sees these traits: it reads through its context and returns the desired changes. Only
//! [`dispatch`](crate::dispatch) prepares and publishes.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::{
    context::CallContext,
    failure::Failure,
    future::BoxFuture,
    ground::{Documents, Ground, HasView, State},
    ids::{CommitId, ContentId, IdempotencyKey},
    spec::RowOperation,
};

/// Stores the data that contracts read and change. Its view is the newest state.
pub trait Store<G: Ground = Documents>: HasView<G> {
    /// Waits for the right to change the store, alone or alongside changes that can't conflict.
    ///
    /// # Errors
    /// If the store can't be changed now: it is busy, damaged, or in a state that forbids it.
    fn begin<'a>(&'a self, claim: Claim<'a>) -> BoxFuture<'a, Result<Box<dyn Session<G> + 'a>, Failure>>;

    /// Returns one state for all reads of a call that changes nothing; `None` if the store's own view suffices.
    ///
    /// # Errors
    /// If the store can't be read.
    fn snapshot<'a>(&'a self) -> BoxFuture<'a, Result<Option<State<'a, G>>, Failure>> {
        Box::pin(async { Ok(None) })
    }

    /// Returns the progress of the newest change to other machines, for the answer of a call (`tabellion/remote`); `None` if the store does
    /// not share its changes.
    fn remote(&self) -> Option<Value> {
        None
    }

    /// Renders `change` of `before` for a person who is asked to approve.
    fn difference(&self, before: &G::Before, change: &G::Change) -> String;
}

/// A change that is about to be planned, as far as a store needs to know.
#[derive(Debug, Clone, Copy, Default)]
pub struct Claim<'c> {
    /// Counts from 0 for each call; a higher one follows a [`StoreError::Conflict`] and may wait a little first.
    pub attempt: u32,
    /// Number of attempts of the call that ended with [`StoreError::Behind`].
    pub behind: u32,
    /// Time since the first attempt began.
    pub waited: Duration,
    /// The operation on rows, if it is one of the table engine's: its reads and writes follow from the rules of its entity.
    pub operation: Option<&'static RowOperation>,
    /// The caller's org; `None` if it names none.
    pub org: Option<&'c str>,
}

/// Returns the view of a state that `store` returned, else its own.
pub(crate) fn view<'v, G: Ground>(store: &'v dyn Store<G>, state: &'v Option<State<'v, G>>) -> G::View<'v> {
    match state {
        Some(state) => state.view(),
        None => store.view(),
    }
}

/// The right to change a store. Its view is the state that the change will be applied to.
///
/// Until [`publish`](Self::publish), no reader sees a change, and dropping it leaves no trace.
pub trait Session<G: Ground = Documents>: HasView<G> {
    /// Returns true if another change may have been published between the reads for this one. An error of the method is then void, and the
    /// change is planned again.
    fn is_overtaken(&self) -> bool {
        false
    }

    /// Looks for an earlier call of `call`'s org with this idempotency key.
    ///
    /// # Errors
    /// [`Conflict`](crate::FailureKind::Conflict) if the key was used for a different `request`; [`StoreError::Conflict`] while
    /// that is not known yet.
    fn replay<'a>(
        &'a self,
        call: &'a CallContext,
        key: &'a IdempotencyKey,
        request: &'a str,
    ) -> BoxFuture<'a, Result<Option<Replay<G>>, StoreError>>;

    /// Checks that `change` can be made in the current state, before a person is asked to approve it. Changes nothing.
    ///
    /// # Errors
    /// If it can't.
    fn check(&self, change: &G::Change) -> Result<(), Failure> {
        let _ = change;
        Ok(())
    }

    /// Prepares the commit of `change`, so that its id is known.
    ///
    /// # Errors
    /// If the change can't be made.
    fn prepare<'a>(
        &'a mut self,
        change: &'a G::Change,
        entry: &'a Entry<'a>,
    ) -> BoxFuture<'a, Result<Prepared, StoreError>>;

    /// Stores the answer of a call with an idempotency key, if the store answers repeated calls from it. It is published with the change.
    ///
    /// # Errors
    /// If it can't be stored.
    fn keep<'a>(&'a mut self, response: &'a Value) -> BoxFuture<'a, Result<(), StoreError>> {
        let _ = response;
        Box::pin(async { Ok(()) })
    }

    /// Publishes the prepared change, possibly in a batch with those of other callers. When the future returns `Ok`, the change
    /// is durable and visible to all readers.
    ///
    /// # Errors
    /// After an error, nothing has changed.
    fn publish<'a>(self: Box<Self>) -> BoxFuture<'a, Result<(), StoreError>>
    where
        Self: 'a;
}

/// The reason that a change was not made.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum StoreError {
    /// Another change was published first; prepare this one again on the new state.
    #[error("another change was published first")]
    Conflict,
    /// Another machine's change was shared first; prepare this one again on the state that [`Store::begin`] fetches.
    #[error("another change was shared first")]
    Behind,
    /// The change can't be made.
    #[error(transparent)]
    Failure(#[from] Failure),
}

/// The log entry of a call, in addition to the change itself.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// Name of the tool that was called.
    pub tool: &'static str,
    /// The call's context.
    pub call: &'a CallContext,
    /// The request in normal form, if the call has an idempotency key.
    pub request: Option<&'a str>,
    /// Details that the tool adds, and the call's provenance if it has one; may be empty.
    pub details: &'a Map<String, Value>,
}

/// A change that is prepared and not yet published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prepared {
    /// Id that the commit will have.
    pub commit: CommitId,
    /// Current content id of the document that `tabellion/ifBase` applies to; `None` if it does not exist.
    pub base: Option<ContentId>,
    /// Id of the content that it will have; `None` if it is deleted.
    pub content: Option<ContentId>,
}

/// An earlier call with the same idempotency key.
pub enum Replay<G: Ground = Documents> {
    /// It is answered by the method, called on the state that the first call found.
    Before {
        /// The commit that it made.
        commit: CommitId,
        /// The state that it was applied to.
        before: Box<dyn HasView<G>>,
        /// The state that it made.
        after: Box<dyn HasView<G>>,
    },
    /// It is answered with the first call's answer.
    Answered {
        /// The commit that it made.
        commit: CommitId,
        /// The answer, without its secrets.
        response: Value,
        /// Its `tabellion/base`; `None` if that was not kept.
        base: Option<Value>,
    },
}
