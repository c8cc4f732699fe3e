//! Failures, and their conversion to the errors that a contract declares.
//!
//! The runtime and a [`Store`](crate::Store) return a [`Failure`] of a closed set of kinds. `contract.json` maps each kind to
//! one of its errors (`errors.*.failures`), and the generated error type converts.

use std::{error::Error, sync::Arc, time::Duration};

use serde_json::{Map, Value, json};

use crate::{schema::Violation, vocabulary::vocabulary};

/// Name, in the data of an error that asks a caller to wait, of the number of seconds.
pub const RETRY_AFTER: &str = "retryAfterSeconds";
/// Number of seconds after which a call that was busy can be repeated.
const BUSY_SECONDS: u64 = 1;
/// Name, in the data of an error about a limit, of the limit.
pub const LIMIT: &str = "limit";

/// Time that a call may take to look through files and histories.
pub const MAX_WORK: Duration = Duration::from_secs(600);

vocabulary! {
    /// The kinds of failure of the runtime and of stores.
    #[serde(rename_all = "snake_case")]
    pub enum FailureKind {
        /// The request breaks a rule of the contract. The same arguments can't succeed.
        Invalid,
        /// The request names an item that does not exist.
        NotFound,
        /// A document has changed since the caller read it. Read it again, then repeat the call.
        Conflict,
        /// The store is in a state in which it must not be changed.
        Refused,
        /// Another process holds a lock. Repeat the call later.
        Busy,
        /// A document or an answer is larger than the server handles.
        TooLarge,
        /// The request names an item that must not be read or changed.
        AccessDenied,
        /// The request names a path that the contract does not permit.
        PathNotAllowed,
        /// A person, or the policy that decides for them, did not approve.
        Declined,
        /// The caller has exceeded a rate limit. Repeat the call later.
        RateLimited,
        /// The contract requires an identified caller, and the caller is unknown or may not do this.
        Unauthenticated,
        /// A gate of the contract refuses the call.
        Violation,
        /// The system failed: a full disk, an unreadable file, a defect.
        Io,
    }
}

/// Message to clients for a failure whose cause is only for the operator.
const INTERNAL: &str = "internal error";

/// The cause of an [internal](Failure::internal) failure, for operators.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Detail(String);

/// A failure: its kind, a message about the event, its place and its remedy, and details for programs.
///
/// `message` is for clients; `Display` is for operators, and includes the detail of an internal failure. Equality ignores the cause, which
/// callers never see.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{}", self.shown())]
pub struct Failure {
    /// Its kind.
    pub kind: FailureKind,
    /// One sentence for a person or a model: the event, its place, the remedy.
    pub message: String,
    /// Details by name, for programs.
    pub data: Map<String, Value>,
    /// The cause, for the log.
    pub source: Option<Arc<dyn Error + Send + Sync>>,
}

impl PartialEq for Failure {
    fn eq(&self, other: &Self) -> bool {
        (self.kind, &self.message, &self.data) == (other.kind, &other.message, &other.data)
    }
}

impl Failure {
    /// Creates a failure of `kind` without details.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), data: Map::new(), source: None }
    }

    /// Creates the failure of a call that succeeds later, with the details by which programs recognize it.
    pub fn busy(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Busy, message).with("rule", "busy").with(RETRY_AFTER, BUSY_SECONDS)
    }

    /// Creates a failure of the system that clients cannot remedy. Clients learn only that it occurred; `detail` is for the log and the
    /// terminal.
    pub fn internal(detail: impl Into<String>) -> Self {
        Self::new(FailureKind::Io, INTERNAL).with_source(Detail(detail.into()))
    }

    fn shown(&self) -> String {
        match &self.source {
            Some(detail) if self.message == INTERNAL => detail.to_string(),
            _ => self.message.clone(),
        }
    }

    /// Adds a detail.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.data.insert(name.into(), value.into());
        self
    }

    /// Sets the cause, and logs it, because the client's answer omits it. The log's line belongs to the request that is being answered.
    #[must_use]
    pub fn with_source(mut self, source: impl Error + Send + Sync + 'static) -> Self {
        let cause = &source as &dyn Error;
        match self.kind {
            FailureKind::Io => tracing::error!(cause, "{}", self.message),
            _ => tracing::debug!(cause, "{}", self.message),
        }
        self.source = Some(Arc::new(source));
        self
    }

    /// Creates the failure for work that [`CallContext::stop`](crate::CallContext::stop) ended.
    pub fn stopped() -> Self {
        let minutes = MAX_WORK.as_secs() / 60;
        let message =
            format!("the work took longer than {minutes} minutes, or was cancelled; ask for less of it");
        Self::new(FailureKind::TooLarge, message)
    }

    /// Creates the failure for a request with violations; its details list all of them, and name rule and place of the first.
    pub fn violations(violations: &[Violation]) -> Self {
        let message = violations.iter().map(Violation::to_string).collect::<Vec<_>>().join("; ");
        let failure = Self::new(FailureKind::Invalid, message).with("violations", json!(violations));
        match violations.first() {
            None => failure,
            Some(first) => failure.with("rule", &*first.rule).with("pointer", &*first.pointer),
        }
    }
}

/// The error type of a contract. Generated code implements it.
pub trait ContractError: From<Failure> + Send {
    /// Returns the error's name, code, message and details.
    fn answer(self) -> ErrorAnswer;
}

/// A declared error, ready for a client.
#[derive(Debug, Clone, PartialEq)]
pub struct ErrorAnswer {
    /// Name in the contract's error table.
    pub name: &'static str,
    /// JSON-RPC code in the contract's error table.
    pub code: i32,
    /// The event and the remedy.
    pub message: String,
    /// Details for programs.
    pub data: Map<String, Value>,
}
