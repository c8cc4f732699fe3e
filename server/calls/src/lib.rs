//! The servers' record of calls, in SQLite: executions, sessions, and shared rate limits.
//!
//! | module | does |
//! |---|---|
//! | `execution` | one call, from its record to its end |
//! | `session` | the sessions of a caller |
//! | `limit` | token buckets as rows |
//! | `servers` | liveness of the servers that share the file |
//! | `file`, `clock` | the SQLite file; the time |

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests open what they have made"))]

mod clock;
mod execution;
mod file;
mod limit;
mod servers;
mod session;
#[cfg(test)]
mod tests;

use std::{
    num::NonZeroU32,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};

use chrono::{DateTime, Utc};
use parking_lot::Mutex;
use rusqlite::{Connection, Transaction, TransactionBehavior};
use serde_json::Value;
use tabellion_platform::blocking;
use tabellion_runtime::{
    BoxFuture, Failure, FailureKind, Identity,
    calls::{
        Admitted, CallStore, Commits, Ended, Execution, ExecutionFilter, ExecutionStatus, NewExecution,
        NotAdmitted, SessionRecord, limit as limit_of,
    },
    spec::{RateLimitPer, SessionsSpec},
    token_bucket::Rate,
};
use uuid::Uuid;

use self::{
    file::{Durability, failed},
    servers::{Server, any_lives},
    session::{SessionError, Sessions},
};

/// Interval at which expired records are deleted.
const FORGET_SECONDS: u32 = 600;
/// Maximum use of a limit by all sessions of a caller, as a multiple of the limit of one session.
const SESSIONS_PER_HOLDER: NonZeroU32 = NonZeroU32::new(5).expect("more than 0");
/// Name of the database file.
const FILE: &str = "calls.db";
/// Name of the folder with the servers' locks.
const SERVERS: &str = "servers";

/// The record of calls, in a folder. Several threads and processes may share one.
pub struct Calls {
    path: PathBuf,
    server: Server,
    /// For changes that must survive a power failure.
    durable: Mutex<Connection>,
    /// For all other changes.
    plain: Mutex<Connection>,
    /// For reads, which never wait for a change.
    reader: Mutex<Connection>,
    commits: Arc<dyn Commits>,
    /// Outcomes that could not be recorded yet.
    late: Mutex<Vec<(String, Ended)>>,
    /// Set once the executions of dead servers are decided.
    recovered: tokio::sync::OnceCell<()>,
    forgot_at: AtomicI64,
}

impl std::fmt::Debug for Calls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Calls").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Calls {
    /// Opens the record in `folder`, which is created if it is missing. `commits` looks up commits by execution.
    ///
    /// # Errors
    /// If the folder or the file can't be created or read.
    pub fn open(folder: &Path, commits: Arc<dyn Commits>) -> Result<Self, Failure> {
        let path = folder.join(FILE);
        file::set_up(&path)?;
        let server = Server::join(folder.join(SERVERS)).map_err(|error| {
            let message = format!("can't create a lock in `{}`: {error}", folder.display());
            Failure::new(FailureKind::Io, message).with_source(error)
        })?;
        let connect = |durability| file::connect(&path, durability).map_err(|error| failed(&error));
        Ok(Self {
            durable: Mutex::new(connect(Durability::Full)?),
            plain: Mutex::new(connect(Durability::Process)?),
            reader: Mutex::new(connect(Durability::Process)?),
            path,
            server,
            commits,
            late: Mutex::default(),
            recovered: tokio::sync::OnceCell::new(),
            forgot_at: AtomicI64::new(0),
        })
    }

    /// Returns true if a process that has opened the record in `folder` still runs.
    pub fn are_served(folder: &Path) -> bool {
        any_lives(&folder.join(SERVERS))
    }

    /// Returns true if `folder` has a record of calls.
    pub fn are_in(folder: &Path) -> bool {
        folder.join(FILE).exists()
    }

    /// Calls `each` with the executions that match `filter`, oldest first, as long as it returns true. Executions of dead servers
    /// are decided first.
    ///
    /// # Errors
    /// If they can't be read.
    pub async fn each(
        &self,
        filter: &ExecutionFilter,
        each: &mut (dyn FnMut(Execution) -> bool + Send),
    ) -> Result<(), Failure> {
        self.recover().await?;
        let read = || execution::each(&self.reader.lock(), filter, each);
        blocking(read).map_err(|error| failed(&error))
    }

    /// Returns the time since which calls are recorded.
    ///
    /// # Errors
    /// If it can't be read.
    pub fn beginning(&self) -> Result<DateTime<Utc>, Failure> {
        let at = self.reader.lock().query_row("SELECT at FROM beginning", [], |row| row.get(0));
        at.map(clock::time).map_err(|error| failed(&error))
    }

    /// Decides the executions of dead servers: an execution with a commit was a success.
    async fn recover(&self) -> Result<(), Failure> {
        let open = execution::open(&self.reader.lock()).map_err(|error| failed(&error))?;
        let ended = self
            .server
            .ended(open.iter().map(|open| open.server.as_str()).collect::<std::collections::BTreeSet<_>>());
        let left: Vec<_> = open.iter().filter(|open| ended.contains(open.server.as_str())).collect();
        let Some(first) = left.first() else { return Ok(()) };
        let ids: Vec<_> = left.iter().map(|open| open.id.clone()).collect();
        let commits = self.commits.find(&ids, clock::time(first.created_at)).await?;
        for id in &ids {
            let end = match commits.get(id) {
                Some(commit) => Ended {
                    status: ExecutionStatus::Success,
                    result: None,
                    meta: None,
                    error: None,
                    commit: Some(commit.clone()),
                    is_replay: false,
                },
                None => interrupted(),
            };
            let connection = self.durable.lock();
            blocking(|| execution::finish(&connection, id, &end, clock::now()))
                .map_err(|error| failed(&error))?;
        }
        Ok(())
    }

    async fn recover_once(&self) -> Result<(), Failure> {
        self.recovered.get_or_try_init(|| self.recover()).await.map(drop)
    }

    /// Runs `change` in a transaction.
    fn change<T, E: From<rusqlite::Error>>(
        &self,
        durability: Durability,
        change: impl FnOnce(&Transaction<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        blocking(|| {
            let mut connection = match durability {
                Durability::Full => self.durable.lock(),
                Durability::Process => self.plain.lock(),
            };
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let changed = change(&transaction)?;
            transaction.commit()?;
            Ok(changed)
        })
    }

    fn admitted(&self, call: &NewExecution<'_>) -> Result<Admitted, SessionError> {
        let durability = if call.tool.mutating { Durability::Full } else { Durability::Process };
        let execution = Uuid::now_v7().to_string();
        let late = std::mem::take(&mut *self.late.lock());
        let now = clock::now();
        let result = self.change(durability, |transaction| {
            for (id, ended) in &late {
                execution::finish(transaction, id, ended, now)?;
            }
            let session = match (call.contract.sessions, call.caller) {
                (Some(spec), Some(caller)) => {
                    let holder = caller.identity.to_string();
                    let sessions = self.sessions(transaction, spec, &holder, now);
                    Some(sessions.resolve(call.session)?)
                }
                _ => None,
            };
            execution::insert(transaction, &execution, call, session.as_deref(), &self.server.id, now)?;
            let limit = match limit_of(call.contract, call.tool) {
                None => None,
                Some(limit) => {
                    let rate = limit.rate();
                    let of_all = Rate { times: rate.times.saturating_mul(SESSIONS_PER_HOLDER), ..rate };
                    let caller = call.caller.map(|caller| caller.identity.to_string());
                    let counted = match limit.per {
                        RateLimitPer::Session => vec![(session.clone(), rate), (caller, of_all)],
                        RateLimitPer::Caller => vec![(caller, rate)],
                    };
                    let mut taken = Ok(());
                    for (whose, rate) in counted {
                        let (contract, name) = (call.contract.id, limit.name);
                        let bucket = format!("{contract} {name} {}", whose.unwrap_or_default());
                        if taken.is_ok() {
                            taken = limit::take(transaction, &bucket, rate, now)?;
                        }
                    }
                    Some(taken)
                }
            };
            Ok(Admitted { execution, session, limit })
        });
        if result.is_err() {
            self.late.lock().extend(late);
        }
        self.forget(now);
        result
    }

    fn sessions<'s>(
        &'s self,
        connection: &'s Connection,
        spec: &'static SessionsSpec,
        holder: &'s str,
        now: i64,
    ) -> Sessions<'s> {
        Sessions { connection, server: &self.server, spec, holder, now }
    }

    fn session<T>(
        &self,
        spec: &'static SessionsSpec,
        holder: &Identity,
        change: impl FnOnce(&Sessions<'_>) -> Result<T, SessionError>,
    ) -> Result<T, NotAdmitted> {
        let holder = &holder.to_string();
        let changed = self.change(Durability::Full, |transaction| {
            change(&self.sessions(transaction, spec, holder, clock::now()))
        });
        changed.map_err(refused)
    }

    /// Deletes expired records, at most once per interval.
    fn forget(&self, now: i64) {
        let last = self.forgot_at.load(Ordering::Relaxed);
        if now - last < clock::seconds(FORGET_SECONDS) {
            return;
        }
        self.forgot_at.store(now, Ordering::Relaxed);
        let forgotten = self.change(Durability::Process, |transaction| {
            execution::forget(transaction, now)?;
            limit::forget(transaction, now)?;
            // An execution may name its session for that long.
            session::forget(transaction, now - clock::seconds(30 * 24 * 3600))
        });
        if let Err(error) = forgotten {
            tracing::debug!(%error, "what is kept no longer was not removed");
        }
    }
}

impl CallStore for Calls {
    fn admit<'a>(&'a self, call: &'a NewExecution<'a>) -> BoxFuture<'a, Result<Admitted, NotAdmitted>> {
        Box::pin(async move {
            if let Err(error) = self.recover_once().await {
                // A library that can't be changed now can still be read; the next call tries again.
                tracing::warn!(%error, "what became of the calls of servers that ended is not known yet");
            }
            self.admitted(call).map_err(refused)
        })
    }

    fn refuse<'a>(&'a self, call: &'a NewExecution<'a>, error: Option<Value>) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let now = clock::now();
            let refused = self.change(Durability::Process, |transaction| {
                let id = Uuid::now_v7().to_string();
                let ended = Ended { error, ..interrupted() };
                execution::insert(transaction, &id, call, None, &self.server.id, now)?;
                execution::finish(transaction, &id, &ended, now)
            });
            if let Err(error) = refused {
                tracing::warn!(%error, "that a call was refused was not recorded");
            }
        })
    }

    fn start<'a>(&'a self, execution: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let started =
                self.change(Durability::Process, |transaction| execution::start(transaction, execution));
            if let Err(error) = started {
                tracing::debug!(%error, "that an execution has begun was not recorded");
            }
        })
    }

    fn finish<'a>(&'a self, execution: &'a str, ended: &'a Ended) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let now = clock::now();
            let finished = self.change(Durability::Process, |transaction| {
                execution::finish(transaction, execution, ended, now)
            });
            if let Err(error) = finished {
                tracing::warn!(%error, execution, "how an execution ended is recorded later");
                self.late.lock().push((execution.to_owned(), ended.clone()));
            }
        })
    }

    fn execution<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Execution>, Failure>> {
        Box::pin(async move {
            let read = || execution::read(&self.reader.lock(), id).map_err(|error| failed(&error));
            let Some((found, server)) = read()? else {
                return Ok(None);
            };
            if found.end.status.is_over() || self.server.ended([server.as_str()]).is_empty() {
                return Ok(Some(found));
            }
            self.recover().await?;
            Ok(read()?.map(|(found, _)| found))
        })
    }

    fn cancel<'a>(&'a self, execution: &'a str) -> BoxFuture<'a, Result<(), Failure>> {
        Box::pin(async move {
            let cancelled = self.change(Durability::Process, |transaction| {
                transaction.execute("UPDATE execution SET cancel = 1 WHERE id = ?1", [execution])
            });
            cancelled.map(drop).map_err(|error| failed(&error))
        })
    }

    fn is_cancelled(&self, execution: &str) -> bool {
        let connection = self.reader.lock();
        let query = connection.prepare_cached("SELECT cancel FROM execution WHERE id = ?1");
        query.and_then(|mut query| query.query_row([execution], |row| row.get(0))).unwrap_or(false)
    }

    fn open_session<'a>(
        &'a self,
        spec: &'static SessionsSpec,
        holder: &'a Identity,
        client: &'a Value,
    ) -> BoxFuture<'a, Result<SessionRecord, NotAdmitted>> {
        Box::pin(async move { self.session(spec, holder, |sessions| sessions.open(client)) })
    }

    fn renew_session<'a>(
        &'a self,
        spec: &'static SessionsSpec,
        holder: &'a Identity,
        id: &'a str,
    ) -> BoxFuture<'a, Result<SessionRecord, NotAdmitted>> {
        Box::pin(async move { self.session(spec, holder, |sessions| sessions.renew(id)) })
    }

    fn end_session<'a>(
        &'a self,
        spec: &'static SessionsSpec,
        holder: &'a Identity,
        id: &'a str,
    ) -> BoxFuture<'a, Result<SessionRecord, NotAdmitted>> {
        Box::pin(async move {
            self.session(spec, holder, |sessions| {
                let ended = sessions.end(id)?;
                sessions.connection.execute(
                    "UPDATE execution SET cancel = 1 WHERE session = ?1 AND completed_at IS NULL",
                    [id],
                )?;
                Ok(ended)
            })
        })
    }

    fn end_connection(&self, connection: &str) {
        let ended =
            self.change(Durability::Process, |transaction| session::end_connection(transaction, connection));
        if let Err(error) = ended {
            tracing::debug!(%error, "that a session has ended was not recorded");
        }
    }
}

fn refused(error: SessionError) -> NotAdmitted {
    match error {
        SessionError::Refused(refusal) => refusal,
        SessionError::Sqlite(error) => failed(&error).into(),
    }
}

/// Returns the outcome of an execution whose server died before a commit: a failure without a contract's error.
fn interrupted() -> Ended {
    Ended {
        status: ExecutionStatus::Failed,
        result: None,
        meta: None,
        error: None,
        commit: None,
        is_replay: false,
    }
}
