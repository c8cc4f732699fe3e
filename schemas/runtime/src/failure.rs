//! What can go wrong, and how it becomes one of the errors that a contract declares.
//!
//! The runtime and a [`Store`](crate::Store) speak of a [`Failure`] of a closed set of kinds. `contract.json` says
//! for each kind which of its errors that is (`errors.*.failures`), and the generated error type converts.

use std::{error::Error, sync::Arc};

use serde_json::{Map, Value, json};

use crate::{schema::Violation, vocabulary::vocabulary};

vocabulary! {
    /// The kinds of failure that the runtime and a store know of.
    #[serde(rename_all = "snake_case")]
    pub enum FailureKind {
        /// The request breaks a rule of the contract. Asking again with the same arguments can't succeed.
        Invalid,
        /// What the request names does not exist.
        NotFound,
        /// The documents are no longer what the caller took them for. Read again, then ask again.
        Conflict,
        /// The place that keeps the documents is in a state in which it must not be changed.
        Refused,
        /// Somebody else holds a lock. Ask again later.
        Busy,
        /// A document or an answer is larger than the server handles.
        TooLarge,
        /// What the request names must not be seen or touched.
        AccessDenied,
        /// The request names a path that is not among those that the contract allows.
        PathNotAllowed,
        /// A person, or whoever decides in their stead, did not approve.
        Declined,
        /// The caller does this more often than the contract allows. Ask again later.
        RateLimited,
        /// The system failed: a full disk, an unreadable file, a defect.
        Io,
    }
}

/// A failure: its kind, what happened where and what to do about it, and details for programs.
///
/// Failures are equal when a caller can't tell them apart: the cause is left out.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// What kind of failure it is.
    pub kind: FailureKind,
    /// One sentence for a person or a model: what, where, what to do.
    pub message: String,
    /// Details by name, for programs.
    pub data: Map<String, Value>,
    /// The error that led to it, for the log.
    pub source: Option<Arc<dyn Error + Send + Sync>>,
}

impl PartialEq for Failure {
    fn eq(&self, other: &Self) -> bool {
        (self.kind, &self.message, &self.data) == (other.kind, &other.message, &other.data)
    }
}

impl Failure {
    /// A failure of `kind` without details.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            data: Map::new(),
            source: None,
        }
    }

    /// The same failure with one more detail.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.data.insert(name.into(), value.into());
        self
    }

    /// The same failure with the error that led to it.
    #[must_use]
    pub fn with_source(mut self, source: impl Error + Send + Sync + 'static) -> Self {
        self.source = Some(Arc::new(source));
        self
    }

    /// A request that breaks rules: all of them are said, each with its id, where it was broken, and why.
    pub fn violations(violations: &[Violation]) -> Self {
        let message = violations
            .iter()
            .map(Violation::to_string)
            .collect::<Vec<_>>()
            .join("; ");
        Self::new(FailureKind::Invalid, message).with("violations", json!(violations))
    }
}

/// The error type that a contract's table becomes. Generated code implements it.
pub trait ContractError: From<Failure> + Send {
    /// The error as the table has it, with what is particular to this case.
    fn answer(self) -> ErrorAnswer;
}

/// A declared error, ready for a client.
#[derive(Debug, Clone, PartialEq)]
pub struct ErrorAnswer {
    /// Name in the contract's error table.
    pub name: &'static str,
    /// JSON-RPC code in the contract's error table.
    pub code: i32,
    /// What happened and what to do.
    pub message: String,
    /// Details for programs.
    pub data: Map<String, Value>,
}
