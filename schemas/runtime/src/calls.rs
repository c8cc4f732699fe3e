//! Records of calls, in addition to their changes: sessions, limits that several servers share, and executions.
//!
//! An *execution* is one call of a tool: its caller, arguments and outcome. It is recorded before work begins, and a change names it, so a
//! crash leaves no doubt about whether the change was made. The records are behind [`CallStore`], because this crate knows no database.
//! Contracts with the key `executions` have one.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use chrono::{DateTime, Utc};
use serde_json::{Map, Value, json};

pub use crate::meta::{EXECUTION, SESSION};
use crate::{
    answer::{Answer, Rejection},
    auth::REASON,
    caller::{Caller, KnownCaller, Progress, Waiting},
    context::{CHANGE, COMMIT, CallContext, GATES, REPLAYED},
    contract::Contract,
    failure::{ErrorAnswer, Failure, FailureKind, LIMIT, RETRY_AFTER},
    future::BoxFuture,
    identity::Identity,
    spec::{ContractSpec, RateLimit, SessionsSpec, ToolSpec},
    token_bucket::seconds,
    vocabulary::vocabulary,
};

vocabulary! {
    /// The states of an execution.
    #[serde(rename_all = "snake_case")]
    pub enum ExecutionStatus {
        /// It is recorded, and has not begun.
        Pending,
        /// It has begun.
        Running,
        /// It was answered with a result.
        Success,
        /// It was answered with an error, or the server ended before it had changed anything.
        Failed,
        /// It was cancelled before it had changed anything.
        Cancelled,
    }
}

impl ExecutionStatus {
    /// Returns true if it has ended.
    pub const fn is_over(self) -> bool {
        !matches!(self, Self::Pending | Self::Running)
    }
}

/// The session that a call belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionOf<'a> {
    /// The one with this id.
    Named(&'a str),
    /// The one of the connection with this id; opened if absent.
    Connection(&'a str),
    /// The caller's own; opened if absent.
    Caller,
}

/// A call that is about to begin.
#[derive(Debug, Clone, Copy)]
pub struct NewExecution<'a> {
    /// Its contract.
    pub contract: &'static ContractSpec,
    /// Its tool or operation.
    pub tool: &'static ToolSpec,
    /// The caller; `None` if it is unknown.
    pub caller: Option<&'a KnownCaller>,
    /// The client's name and version, if known.
    pub client: Option<&'a str>,
    /// Its session, where the contract has sessions and the caller is known.
    pub session: SessionOf<'a>,
    /// The arguments.
    pub arguments: &'a Value,
    /// True if it is answered before it begins, and its result is fetched later.
    pub is_pending: bool,
    /// True if its result is kept although it changes nothing.
    pub keeps_result: bool,
}

impl<'a> NewExecution<'a> {
    /// Returns a call that is answered when it has ended, in the caller's own session.
    pub fn new(
        contract: &'static ContractSpec,
        tool: &'static ToolSpec,
        call: &'a CallContext,
        arguments: &'a Value,
    ) -> Self {
        Self {
            contract,
            tool,
            caller: call.caller.as_deref(),
            client: call.client.as_deref(),
            session: SessionOf::Caller,
            arguments,
            is_pending: false,
            keeps_result: false,
        }
    }
}

/// A call that may begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admitted {
    /// Id of the execution.
    pub execution: String,
    /// Id of the session, if the call has one.
    pub session: Option<String>,
    /// The verdict of its tool's limit: the time to wait, if it is exceeded; `None` if the tool has no limit.
    pub limit: Option<Result<(), Duration>>,
}

/// The reason that a call may not begin.
#[derive(Debug, Clone, PartialEq)]
pub enum NotAdmitted {
    /// The call named this session, which is not one of the caller's active ones.
    NoSession(String),
    /// The caller has as many sessions as the contract permits.
    TooManySessions {
        /// The time until one of them ends by itself.
        wait: Duration,
    },
    /// The records of calls can't be read or changed.
    Failure(Failure),
}

impl From<Failure> for NotAdmitted {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

/// The end of an execution.
#[derive(Debug, Clone, PartialEq)]
pub struct Ended {
    /// A state that is over.
    pub status: ExecutionStatus,
    /// The result of a success.
    pub result: Option<Value>,
    /// Other metadata of the answer, by `_meta` key.
    pub meta: Option<Value>,
    /// The error of a failure, as the contract's error object; `None` if the server ended first.
    pub error: Option<Value>,
    /// The commit, or the change of rows, that it made.
    pub commit: Option<String>,
    /// True if an earlier call with its idempotency key had made that change.
    pub is_replay: bool,
}

/// An execution.
#[derive(Debug, Clone, PartialEq)]
pub struct Execution {
    /// Its id.
    pub id: String,
    /// Id of its contract.
    pub contract: String,
    /// Its tool or operation.
    pub tool: String,
    /// True if it may change data.
    pub is_mutating: bool,
    /// Id of its session, if it had one.
    pub session: Option<String>,
    /// Identity of the caller, if it was known.
    pub caller: Option<String>,
    /// The caller's name, as shown to people.
    pub caller_name: Option<String>,
    /// The client's name and version, if known.
    pub client: Option<String>,
    /// The arguments, with digests in place of long texts.
    pub input: Value,
    /// SHA-256 of the arguments.
    pub input_digest: String,
    /// When it was recorded.
    pub created_at: DateTime<Utc>,
    /// When it ended; `None` if it has not.
    pub completed_at: Option<DateTime<Utc>>,
    /// Its state and, once it is over, its result.
    pub end: Ended,
}

/// A filter of executions. Each condition narrows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExecutionFilter {
    /// Session that they belong to.
    pub session: Option<String>,
    /// Identity or shown name of their caller.
    pub caller: Option<String>,
    /// Their tool or operation.
    pub tool: Option<String>,
    /// Their state.
    pub status: Option<ExecutionStatus>,
    /// Time from which on they were recorded.
    pub since: Option<DateTime<Utc>>,
    /// Time before which they were recorded.
    pub until: Option<DateTime<Utc>>,
}

/// A session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRecord {
    /// Its id.
    pub id: String,
    /// Identity of the caller whose session it is.
    pub holder: String,
    /// Its client's description of itself, as JSON; `null` if absent.
    pub client: Value,
    /// When it was opened.
    pub created_at: DateTime<Utc>,
    /// Time of the last call in it.
    pub last_activity_at: DateTime<Utc>,
    /// When it ends without a further call.
    pub expires_at: DateTime<Utc>,
    /// When it ends at the latest.
    pub max_expires_at: DateTime<Utc>,
    /// When it was ended; `None` if it has not been.
    pub terminated_at: Option<DateTime<Utc>>,
}

/// Stores sessions, limits and executions, for all servers that share it.
pub trait CallStore: fmt::Debug + Send + Sync {
    /// Admits a call: finds its session, counts it against its limit, and records its execution. Durable when the future returns, if the
    /// call may change data.
    fn admit<'a>(&'a self, call: &'a NewExecution<'a>) -> BoxFuture<'a, Result<Admitted, NotAdmitted>>;

    /// Records a call that was not admitted, with its error as the contract's error object.
    fn refuse<'a>(&'a self, call: &'a NewExecution<'a>, error: Option<Value>) -> BoxFuture<'a, ()>;

    /// Records that a pending execution has begun.
    fn start<'a>(&'a self, execution: &'a str) -> BoxFuture<'a, ()>;

    /// Records the end of an execution. If that fails now, it is recorded later: the change itself proves that it was made.
    fn finish<'a>(&'a self, execution: &'a str, ended: &'a Ended) -> BoxFuture<'a, ()>;

    /// Returns the execution with this id, if it is kept.
    ///
    /// # Errors
    /// If it can't be read.
    fn execution<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Execution>, Failure>>;

    /// Asks the server that runs an execution to cancel it. It ends as cancelled if it had not changed anything yet.
    ///
    /// # Errors
    /// If that can't be recorded.
    fn cancel<'a>(&'a self, execution: &'a str) -> BoxFuture<'a, Result<(), Failure>>;

    /// Returns true if cancellation of an execution was requested. Cheap: it is called often.
    fn is_cancelled(&self, execution: &str) -> bool;

    /// Opens a session of a caller.
    ///
    /// # Errors
    /// If there are too many, or it can't be recorded.
    fn open_session<'a>(
        &'a self,
        spec: &'static SessionsSpec,
        holder: &'a Identity,
        client: &'a Value,
    ) -> BoxFuture<'a, Result<SessionRecord, NotAdmitted>>;

    /// Counts a request as activity in a caller's session.
    ///
    /// # Errors
    /// If it is not one of the caller's active ones, or that can't be recorded.
    fn renew_session<'a>(
        &'a self,
        spec: &'static SessionsSpec,
        holder: &'a Identity,
        id: &'a str,
    ) -> BoxFuture<'a, Result<SessionRecord, NotAdmitted>>;

    /// Ends a caller's session, and asks that its executions be cancelled.
    ///
    /// # Errors
    /// As [`renew_session`](Self::renew_session).
    fn end_session<'a>(
        &'a self,
        spec: &'static SessionsSpec,
        holder: &'a Identity,
        id: &'a str,
    ) -> BoxFuture<'a, Result<SessionRecord, NotAdmitted>>;

    /// Ends the session of a connection, if it has one.
    fn end_connection(&self, connection: &str);
}

/// Finds the changes that executions have made, in the log of changes.
pub trait Commits: Send + Sync {
    /// Returns the commits of these executions, of which the first was recorded at `since`. A change that was interrupted is completed or
    /// undone first.
    ///
    /// # Errors
    /// If the changes can't be read, or an interrupted one can't be decided now.
    fn find<'a>(
        &'a self,
        executions: &'a [String],
        since: DateTime<Utc>,
    ) -> BoxFuture<'a, Result<BTreeMap<String, String>, Failure>>;
}

/// Returns the limit of a tool.
pub fn limit(contract: &ContractSpec, tool: &ToolSpec) -> Option<&'static RateLimit> {
    let name = tool.rate_limit?;
    contract.rate_limits.iter().find(|limit| limit.name == name)
}

/// Interval at which a running call checks for a request to cancel it.
const CANCEL_INTERVAL: Duration = Duration::from_millis(20);
/// Maximum number of characters of an id that an error repeats.
const MAX_ID_CHARS: usize = 100;
/// The limit of sessions.
const SESSIONS: &str = "sessions";

/// A call whose execution is recorded.
#[derive(Debug)]
pub struct RecordedCall {
    store: Arc<dyn CallStore>,
    execution: Arc<str>,
    session: Option<Arc<str>>,
    /// JSON pointer in the response to its commit, where the response has one.
    commit_at: Option<&'static str>,
}

impl RecordedCall {
    /// Records that a call begins; returns the call with its execution, its session, and the verdict of its limit.
    ///
    /// # Errors
    /// If it may not begin.
    pub async fn begin(
        store: &Arc<dyn CallStore>,
        contract: &dyn Contract,
        new: &NewExecution<'_>,
        call: &CallContext,
    ) -> Result<(Self, CallContext), Rejection> {
        let admitted = match store.admit(new).await {
            Ok(admitted) => admitted,
            Err(refusal) => {
                let error = refused(contract, refusal);
                store.refuse(new, contract.spec().error_object(&error)).await;
                return Err(Rejection::Declared(error));
            }
        };
        let recorded = Self {
            store: store.clone(),
            execution: admitted.execution.into(),
            session: admitted.session.map(Arc::from),
            commit_at: new.tool.commit,
        };
        let cancellable = Cancellable {
            store: store.clone(),
            execution: recorded.execution.clone(),
            waiting: call.waiting.clone(),
            looked: Mutex::new((Instant::now(), false)),
        };
        let call = CallContext {
            execution: Some(recorded.execution.clone()),
            session: recorded.session.clone(),
            limit: admitted.limit,
            ..call.clone()
        };
        Ok((recorded, call.with_caller(Arc::new(cancellable))))
    }

    /// Returns the id of the execution.
    pub fn id(&self) -> &Arc<str> {
        &self.execution
    }

    /// Records the end of the call, and adds its execution to the answer.
    pub async fn end(
        self,
        contract: &dyn Contract,
        call: &CallContext,
        outcome: Result<Answer, Rejection>,
    ) -> Result<Answer, Rejection> {
        let outcome = outcome.map(|mut answer| {
            answer.meta.insert(EXECUTION.into(), (*self.execution).into());
            if let Some(session) = &self.session {
                answer.meta.insert(SESSION.into(), (**session).into());
            }
            answer
        });
        let mut ended = ended(contract, call.is_cancelled(), &outcome, self.commit_at);
        let verdict = call.verdict.take();
        ended.meta = ended.meta.or(verdict.map(|said| json!({ GATES: said })));
        self.store.finish(&self.execution, &ended).await;
        outcome
    }
}

fn ended(
    contract: &dyn Contract,
    is_cancelled: bool,
    outcome: &Result<Answer, Rejection>,
    commit_at: Option<&str>,
) -> Ended {
    let end = Ended {
        status: ExecutionStatus::Failed,
        result: None,
        meta: None,
        error: None,
        commit: None,
        is_replay: false,
    };
    let failed = |error: &ErrorAnswer| Ended {
        status: if is_cancelled { ExecutionStatus::Cancelled } else { ExecutionStatus::Failed },
        error: contract.spec().error_object(error),
        ..end.clone()
    };
    match outcome {
        Ok(Answer { response, meta }) => {
            let said = |key: &str| meta.get(key).and_then(Value::as_str);
            let in_response = || commit_at.and_then(|at| response.pointer(at)?.as_str());
            Ended {
                status: ExecutionStatus::Success,
                result: Some(response.clone()),
                commit: said(COMMIT).or_else(|| said(CHANGE)).or_else(in_response).map(str::to_owned),
                is_replay: meta.contains_key(REPLAYED),
                meta: Some(meta.clone().into()),
                ..end
            }
        }
        Err(Rejection::Declared(error)) => failed(error),
        // The call is made again with the person's answer.
        Err(Rejection::InputRequired(_)) => Ended { status: ExecutionStatus::Cancelled, ..end },
        Err(Rejection::UnknownTool | Rejection::Unknown | Rejection::Breach { .. }) => {
            failed(&contract.error_for(Failure::new(FailureKind::Io, "")))
        }
    }
}

/// Returns the contract's error for a call that may not begin, or for a session that is unavailable.
pub fn refused(contract: &dyn Contract, refusal: NotAdmitted) -> ErrorAnswer {
    match refusal {
        NotAdmitted::Failure(failure) => contract.error_for(failure),
        NotAdmitted::TooManySessions { wait } => {
            let wait = seconds(wait);
            let message = format!(
                "you have as many sessions as there may be; end one of them, or wait {wait} s until one ends by itself"
            );
            let failure = Failure::new(FailureKind::RateLimited, message);
            contract.error_for(failure.with(LIMIT, SESSIONS).with(RETRY_AFTER, wait))
        }
        NotAdmitted::NoSession(id) => {
            let id: String = id.chars().take(MAX_ID_CHARS).collect();
            let details = Map::from_iter([("session_id".to_owned(), id.into())]);
            let spec = contract.spec();
            let message = "the session is not one of your active ones; open a new one, or name none";
            let expired = spec.sessions.map_or("", |sessions| sessions.expired);
            match spec.errors.iter().find(|error| error.name == expired) {
                Some(error) => spec.answer(error, message.into(), details),
                None => {
                    let failure = Failure::new(FailureKind::Invalid, message).with(REASON, "session");
                    contract.error_for(Failure {
                        data: failure.data.into_iter().chain(details).collect(),
                        ..failure
                    })
                }
            }
        }
    }
}

/// The waiting side of a recorded call, which others can cancel too.
struct Cancellable {
    store: Arc<dyn CallStore>,
    execution: Arc<str>,
    waiting: Waiting,
    /// The time of the last check, and its result.
    looked: Mutex<(Instant, bool)>,
}

impl Caller for Cancellable {
    fn has_cancelled(&self) -> bool {
        if self.waiting.0.as_ref().is_some_and(|caller| caller.has_cancelled()) {
            return true;
        }
        let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, was_cancelled) = *looked;
        if !was_cancelled && at.elapsed() >= CANCEL_INTERVAL {
            *looked = (Instant::now(), self.store.is_cancelled(&self.execution));
        }
        looked.1
    }

    fn hear(&self, progress: Progress) {
        if let Some(caller) = &self.waiting.0 {
            caller.hear(progress);
        }
    }
}
