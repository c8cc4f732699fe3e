//! Connections to the database: a pool with its own threads, so callers need no asynchronous runtime.

use std::{
    collections::HashMap,
    future::{Future, poll_fn},
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    time::{Duration, Instant},
};

use futures_util::{
    TryStreamExt as _,
    future::{join, join_all},
};
use parking_lot::Mutex;
use tabellion_platform::blocking;
use tabellion_runtime::{Failure, Row, rows::Select};
use tokio::{
    runtime::{Builder, Handle, Runtime, RuntimeFlavor},
    sync::{OwnedSemaphorePermit, Semaphore},
    task::AbortHandle,
    time::{sleep, timeout},
};
use tokio_postgres::{
    AsyncMessage, Client, Config, Error, Row as Columns, SimpleQueryMessage, Statement as Prepared,
    error::{DbError, SqlState},
};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::{
    address::Address,
    codec::{Parameter, read_row},
    failures::{Fault, away},
};
use crate::{
    failures::refused,
    layout::text_literal,
    sql::{Dialect::Postgres, Statement},
};

/// Maximum number of connections of a process.
const MAX_CONNECTIONS: usize = 32;
/// Maximum number of idle connections for following, which the pool's thread drives.
const MAX_OWN: usize = 2;
/// Maximum number of connections that change rows: their calls may need one more to read.
const MAX_TURNS: usize = 28;
/// Time after which an idle connection is closed.
const MAX_IDLE: Duration = Duration::from_secs(60);
/// Time that a call waits for a connection.
const POOL_TIMEOUT: Duration = Duration::from_secs(5);
/// Time after which an answer is no longer expected.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(35);
/// Time within which a reachable database must answer.
const PROBE_TIMEOUT: Duration = Duration::from_secs(3);
/// Time limit for a rollback, after which its connection is closed.
const UNDO_TIMEOUT: Duration = Duration::from_secs(2);
/// Text of the server's notice about a commit that may not have reached the database's standbys.
const CUT_SHORT: &str = "canceling wait for synchronous replication";
/// The oldest supported version of PostgreSQL.
const MIN_VERSION: i32 = 150_000;

/// Connections to one schema of a database.
#[derive(Debug)]
pub(crate) struct Pool {
    address: Address,
    /// The settings of a session, by their names.
    settings: Vec<(&'static str, String)>,
    idle: Arc<Mutex<Vec<Link>>>,
    connections: Arc<Semaphore>,
    turns: Arc<Semaphore>,
    /// Connections that may be waiting for an answer.
    watched: Arc<Mutex<Vec<Weak<Watched>>>>,
    /// `None` while the pool is dropped.
    runtime: Option<Runtime>,
}

/// A connection, the task that drives it, and the flag of a commit that was cut short on it.
type Connected = (Client, AbortHandle, Arc<AtomicBool>);

/// A connection.
pub(crate) struct Link {
    client: Arc<Client>,
    watched: Arc<Watched>,
    prepared: Mutex<HashMap<String, Prepared>>,
    /// Time at which the connection was given back.
    used: Instant,
    /// True if the pool's thread drives it.
    is_own: bool,
    /// Start of each transaction: settings that the session lacks.
    settings: String,
    /// True if the session does not have the settings that it was opened with: a pooler is in between.
    is_pooled: bool,
    /// True if answers may take long.
    is_patient: AtomicBool,
    /// Set if the server reported that a commit did not wait for its standbys.
    is_cut_short: Arc<AtomicBool>,
}

/// A connection that is closed if an answer does not come.
struct Watched {
    driver: AbortHandle,
    answers: Mutex<Answers>,
}

/// The outstanding answers.
struct Answers {
    count: usize,
    /// Time of the last answer, or of the first outstanding request.
    since: Instant,
}

impl std::fmt::Debug for Link {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Link")
    }
}

/// A connection in a transaction. It returns to the pool once the end of the transaction is answered.
#[derive(Debug)]
pub(crate) struct Lease {
    link: Option<Link>,
    pool: Arc<Pool>,
    permits: Permits,
}

/// The right to a connection.
#[derive(Debug)]
pub(crate) struct Permits(
    #[expect(dead_code, reason = "held, never read")] [Option<OwnedSemaphorePermit>; 2],
);

/// Kind of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Changes rows.
    Changes,
    /// Reads one state.
    Reads,
    /// Reads the newest state at each statement.
    Follows,
}

impl Pool {
    pub(crate) fn new(address: &Address, schema: &str) -> Result<Arc<Self>, Failure> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("postgres")
            .enable_all()
            .build()
            .map_err(|error| Failure::internal(format!("no thread for the database: {error}")))?;
        let watched: Arc<Mutex<Vec<Weak<Watched>>>> = Arc::default();
        let idle: Arc<Mutex<Vec<Link>>> = Arc::default();
        runtime.spawn(watch(Arc::downgrade(&watched), Arc::downgrade(&idle)));
        Ok(Arc::new(Self {
            address: address.clone(),
            settings: settings(schema),
            idle,
            connections: Arc::new(Semaphore::new(MAX_CONNECTIONS)),
            turns: Arc::new(Semaphore::new(MAX_TURNS)),
            watched,
            runtime: Some(runtime),
        }))
    }

    fn handle(&self) -> Result<&Handle, Failure> {
        self.runtime.as_ref().map(Runtime::handle).ok_or_else(away)
    }

    /// Runs work to its end, even if the caller is dropped: on the caller's runtime if that has threads, else on the pool's.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, Failure> {
        let done = match Handle::try_current() {
            Ok(here) if has_threads() && !is_own() => here.spawn(work).await,
            _ => self.handle()?.spawn(OWN.scope((), work)).await,
        };
        done.map_err(|_| Failure::internal("the work with the database was given up"))
    }

    /// Runs work on the pool's thread, and waits for it without an asynchronous runtime.
    pub(crate) fn wait<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, Failure>> + Send + 'static,
    ) -> Result<T, Failure> {
        let (done, outcome) = mpsc::sync_channel(1);
        self.handle()?.spawn(OWN.scope((), async move {
            // The waiting side may be gone.
            let _ = done.send(work.await);
        }));
        let outcome = blocking(|| outcome.recv());
        outcome.unwrap_or_else(|_| Err(Failure::internal("the work with the database was given up")))
    }

    /// Waits a little, longer with each attempt.
    pub(crate) async fn back_off(&self, attempt: u32) {
        let mut random = [0; 2];
        let _ = getrandom::fill(&mut random);
        let chance = f64::from(u16::from_le_bytes(random)) / f64::from(u16::MAX);
        let longest = Duration::from_millis(1 << attempt.min(8)).min(Duration::from_millis(200));
        let _ = self.run(async move { sleep(longest.mul_f64(chance)).await }).await;
    }

    /// Begins a transaction on a connection of the pool. Returns the values selected by `first`, which is one or several statements.
    pub(crate) async fn begin(
        self: &Arc<Self>,
        mode: Mode,
        first: &str,
    ) -> Result<(Lease, Vec<String>), Fault> {
        let (lease, selected, _) = self.begin_and_query(mode, first, &[]).await?;
        Ok((lease, selected))
    }

    /// Begins a transaction like [`begin`](Self::begin), and runs queries in it, which are sent with its beginning.
    pub(crate) async fn begin_and_query(
        self: &Arc<Self>,
        mode: Mode,
        first: &str,
        queries: &[Statement],
    ) -> Result<(Lease, Vec<String>, Vec<Vec<Columns>>), Fault> {
        let begin = match mode {
            Mode::Changes | Mode::Follows => "BEGIN ISOLATION LEVEL READ COMMITTED",
            Mode::Reads => {
                // A call may be busy for long between two reads.
                "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL idle_in_transaction_session_timeout = '15min'"
            }
        };
        let mut lease = Lease { link: None, pool: Arc::clone(self), permits: self.permits(mode).await? };
        loop {
            let idle = self.idle();
            let is_new = idle.is_none();
            let link = lease.link.insert(match idle {
                Some(link) => link,
                None => self.connect(&self.settings).await?,
            });
            let begun = format!("{begin}; {} {first}", link.settings);
            let begun = async {
                if !link.has_prepared(queries) {
                    // In the transaction, which has the settings of the session even behind a pooler.
                    return Ok((link.select(&begun).await?, link.query_all(queries).await?));
                }
                let (begun, rows) = join(link.select(&begun), link.query_all(queries)).await;
                Ok((begun?, rows?))
            };
            match begun.await {
                // The server may have restarted since the connection was used.
                Err(Fault::Lost(_)) if !is_new => lease.link = None,
                Err(fault) => {
                    lease.end("ROLLBACK").await;
                    return Err(fault);
                }
                Ok((selected, rows)) => return Ok((lease, selected, rows)),
            }
        }
    }

    /// Opens a connection without time limits, for a statement that can't run in a transaction and may take long. It is closed when
    /// it is dropped.
    pub(crate) async fn patient(&self, schema: &str) -> Result<(Link, Permits), Fault> {
        let permits = self.permits(Mode::Follows).await?;
        let settings = settings(schema).into_iter().map(|(name, value)| {
            let value = if name.ends_with("_timeout") { "0".into() } else { value };
            (name, value)
        });
        let link = self.connect(&settings.collect::<Vec<_>>()).await?;
        link.be_patient();
        Ok((link, permits))
    }

    /// Does work in the background, on the pool's thread.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) -> Result<(), Failure> {
        self.handle()?.spawn(OWN.scope((), work));
        Ok(())
    }

    /// Returns true if the database answers within a few seconds, or if all connections are in use: then their calls find out.
    pub(crate) async fn answers(self: &Arc<Self>) -> bool {
        if self.connections.available_permits() == 0 {
            return true;
        }
        let asked = async {
            let (lease, _) = self.begin(Mode::Follows, "").await?;
            lease.end("ROLLBACK").await;
            Ok::<_, Fault>(())
        };
        timeout(PROBE_TIMEOUT, asked).await.is_ok_and(|asked| asked.is_ok())
    }

    /// Returns an idle connection that the current runtime drives.
    fn idle(&self) -> Option<Link> {
        let (mut idle, is_own) = (self.idle.lock(), is_own());
        let at = idle.iter().rposition(|link| link.is_own == (is_own || !has_threads()))?;
        Some(idle.swap_remove(at))
    }

    async fn permits(&self, mode: Mode) -> Result<Permits, Failure> {
        let turn = match mode {
            Mode::Changes => Some(self.permit(&self.turns).await?),
            Mode::Reads | Mode::Follows => None,
        };
        Ok(Permits([turn, Some(self.permit(&self.connections).await?)]))
    }

    async fn permit(&self, of: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit, Failure> {
        if let Ok(permit) = Arc::clone(of).try_acquire_owned() {
            return Ok(permit);
        }
        let waiting = Arc::clone(of).acquire_owned();
        let limited = async move { timeout(POOL_TIMEOUT, waiting).await };
        match self.run(limited).await? {
            Ok(Ok(permit)) => Ok(permit),
            _ => Err(Failure::busy(
                "all connections to the database are in use; nothing has changed, try again",
            )),
        }
    }

    /// Opens a connection, and checks that the server keeps acknowledged commits.
    async fn connect(&self, settings: &[(&'static str, String)]) -> Result<Link, Fault> {
        let is_own = is_own() || !has_threads();
        let (mut config, tls) = ((*self.address.config).clone(), self.address.tls.clone());
        let options = settings.iter().map(|(name, value)| format!("-c {name}={value}"));
        config.options(options.collect::<Vec<_>>().join(" "));
        let connected = match self.connected(config, tls.clone()).await? {
            // A pooler may refuse settings.
            Err(error) if error.code() == Some(&SqlState::PROTOCOL_VIOLATION) => {
                self.connected((*self.address.config).clone(), tls).await?
            }
            connected => connected,
        };
        let (client, driver, is_cut_short) = connected.map_err(|error| self.not_connected(error))?;
        let watched =
            Arc::new(Watched { driver, answers: Mutex::new(Answers { count: 0, since: Instant::now() }) });
        self.watched.lock().push(Arc::downgrade(&watched));
        let mut link = Link {
            client: Arc::new(client),
            watched,
            prepared: Mutex::default(),
            used: Instant::now(),
            is_own,
            settings: String::new(),
            is_pooled: false,
            is_patient: AtomicBool::new(false),
            is_cut_short,
        };
        let found = link
            .select(
                "SELECT current_setting('server_version_num') || ' ' || current_setting('fsync') || ' ' \
                 || current_setting('full_page_writes') || ' ' || pg_is_in_recovery()::text || ' ' \
                 || current_setting('server_encoding') || ' ' || current_setting('synchronous_commit'); \
                 SELECT current_setting('search_path')",
            )
            .await?;
        let [found, path] = &found[..] else {
            return Err(Fault::Failure(away()));
        };
        let is_lax = self.check(found)?;
        link.is_pooled = settings.first().is_some_and(|(_, wanted)| wanted != path);
        let missing = settings.iter().filter(|_| link.is_pooled).cloned();
        let durable = is_lax.then(|| ("synchronous_commit", "on".to_owned()));
        let set = missing
            .chain(durable)
            .map(|(name, value)| format!("SET LOCAL {name} = {};", text_literal(&value)));
        link.settings = set.collect();
        Ok(link)
    }

    /// Checks that a pooler in front of the database keeps prepared statements, whichever connection it gives a transaction.
    pub(crate) async fn check_pooler(&self) -> Result<(), Fault> {
        let link = self.connect(&self.settings).await?;
        if !link.is_pooled {
            self.put(link);
            return Ok(());
        }
        let other = self.connect(&self.settings).await?;
        let statement = Statement { sql: "SELECT 1".into(), values: vec![] };
        link.prepared(&statement.sql).await?;
        // It takes the connection that prepared the statement, so the next use of the statement is on a different one.
        other.select("BEGIN").await?;
        match timeout(PROBE_TIMEOUT, link.query(&statement)).await {
            Ok(used) => used.map(drop),
            // The pooler has one connection in all.
            Err(_) => Ok(()),
        }
    }

    /// Converts a connection error. The operator gets PostgreSQL's own message for errors that they can correct: it never contains
    /// a password.
    fn not_connected(&self, error: Error) -> Fault {
        let (said, address) = (error.to_string(), &self.address);
        let cause = std::error::Error::source(&error).map(ToString::to_string);
        tracing::error!(%error, cause, "can't connect to {address}");
        let of_class =
            |database: &DbError| ["28", "3D"].iter().any(|class| database.code().code().starts_with(class));
        let why = match error.as_db_error() {
            Some(database) if of_class(database) => database.message().to_owned(),
            None if said.contains("TLS") => format!("{said}: {}", cause.unwrap_or_default()),
            None if said.contains("invalid configuration") => {
                format!("{}; see `~/.pgpass` and `PGPASSWORD`", cause.unwrap_or(said))
            }
            _ => return Fault::from(error),
        };
        Fault::Failure(refused(format!("{address}: {why}")))
    }

    /// Opens a connection. The caller's runtime drives it, if that has threads, which saves waking other threads.
    async fn connected(
        &self,
        config: Config,
        tls: MakeRustlsConnect,
    ) -> Result<Result<Connected, Error>, Failure> {
        self.run(async move {
            let (client, mut connection) = config.connect(tls).await?;
            let is_cut_short = Arc::new(AtomicBool::new(false));
            let flag = Arc::clone(&is_cut_short);
            let driver = tokio::spawn(async move {
                while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
                    if let AsyncMessage::Notice(notice) = message {
                        flag.fetch_or(notice.message().contains(CUT_SHORT), Ordering::SeqCst);
                    }
                }
            });
            Ok((client, driver.abort_handle(), is_cut_short))
        })
        .await
    }

    /// Checks a server's settings. Returns true if its default `synchronous_commit` is too weak.
    fn check(&self, settings: &str) -> Result<bool, Failure> {
        let settings: Vec<_> = settings.split(' ').collect();
        let [version, fsync, full_page_writes, in_recovery, encoding, commit] = settings[..] else {
            return Err(refused(format!("{} does not answer as PostgreSQL does", self.address)));
        };
        let wrong = if version.parse::<i32>().is_ok_and(|version| version < MIN_VERSION) {
            "is older than PostgreSQL 15"
        } else if fsync != "on" || full_page_writes != "on" {
            "does not wait for its disk: `fsync` and `full_page_writes` must be on"
        } else if in_recovery == "true" {
            "is a standby; name the primary, or all hosts"
        } else if encoding != "UTF8" {
            "has another encoding than UTF8; create the database with `ENCODING 'UTF8'`"
        } else {
            return Ok(matches!(commit, "off" | "local"));
        };
        Err(refused(format!("{} {wrong}", self.address)))
    }

    fn put(&self, mut link: Link) {
        link.is_patient.store(false, Ordering::Relaxed);
        link.used = Instant::now();
        let mut idle = self.idle.lock();
        let of_its_kind = idle.iter().filter(|other| other.is_own == link.is_own).count();
        if !link.client.is_closed() && (!link.is_own || of_its_kind < MAX_OWN) {
            idle.push(link);
        }
    }

    pub(crate) fn address(&self) -> &Address {
        &self.address
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // Its threads may be this one.
            runtime.shutdown_background();
        }
    }
}

/// Closes connections on which an answer does not come, and those that are idle for too long.
async fn watch(watched: Weak<Mutex<Vec<Weak<Watched>>>>, idle: Weak<Mutex<Vec<Link>>>) {
    loop {
        sleep(Duration::from_secs(1)).await;
        let (Some(watched), Some(idle)) = (watched.upgrade(), idle.upgrade()) else {
            return;
        };
        idle.lock().retain(|link| link.used.elapsed() < MAX_IDLE);
        watched.lock().retain(|watched| {
            let Some(watched) = watched.upgrade() else {
                return false;
            };
            let answers = watched.answers.lock();
            if answers.count > 0 && answers.since.elapsed() > ANSWER_TIMEOUT {
                watched.driver.abort();
            }
            drop(answers);
            true
        });
    }
}

/// Returns the session settings for a schema.
fn settings(schema: &str) -> Vec<(&'static str, String)> {
    [
        ("search_path", schema),
        ("lock_timeout", "10s"),
        ("statement_timeout", "30s"),
        ("idle_in_transaction_session_timeout", "10s"),
        // Plans are kept as long as the connection, and a table that was small then may have grown: an index serves both.
        ("enable_seqscan", "off"),
    ]
    .map(|(name, value)| (name, value.to_owned()))
    .into()
}

tokio::task_local! {
    /// Set in tasks of the pool's thread.
    static OWN: ();
}

/// Returns true if this task runs on the pool's thread.
fn is_own() -> bool {
    OWN.try_with(|()| ()).is_ok()
}

/// Returns true if the caller's runtime has threads that can drive connections.
fn has_threads() -> bool {
    Handle::try_current().is_ok_and(|here| here.runtime_flavor() == RuntimeFlavor::MultiThread)
}

/// A pending answer; `None` if it may take long.
struct Waiting<'l>(Option<&'l Watched>);

impl<'l> Waiting<'l> {
    fn on(watched: &'l Watched) -> Self {
        let mut answers = watched.answers.lock();
        if answers.count == 0 {
            answers.since = Instant::now();
        }
        answers.count += 1;
        Self(Some(watched))
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let Some(watched) = self.0 {
            let mut answers = watched.answers.lock();
            answers.count -= 1;
            answers.since = Instant::now();
        }
    }
}

impl Link {
    /// Counts an outstanding answer until the result is dropped.
    fn waiting(&self) -> Waiting<'_> {
        if self.is_patient.load(Ordering::Relaxed) {
            return Waiting(None);
        }
        Waiting::on(&self.watched)
    }

    /// Disables the time limit for the answers of this transaction.
    pub(crate) fn be_patient(&self) {
        self.is_patient.store(true, Ordering::Relaxed);
    }

    pub(crate) fn client(&self) -> Arc<Client> {
        Arc::clone(&self.client)
    }

    /// Returns true if a commit ended before it reached the database's standbys.
    pub(crate) fn is_cut_short(&self) -> bool {
        self.is_cut_short.load(Ordering::SeqCst)
    }

    /// Runs statements without parameters. Returns the first column of the selected rows.
    pub(crate) async fn select(&self, sql: &str) -> Result<Vec<String>, Fault> {
        let _waiting = self.waiting();
        let messages = self.client.simple_query(sql).await?;
        let rows = messages.into_iter().filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some(row.get(0).unwrap_or_default().to_owned()),
            _ => None,
        });
        Ok(rows.collect())
    }

    /// Prepares a statement, once for each connection.
    pub(crate) async fn prepared(&self, sql: &str) -> Result<Prepared, Fault> {
        if let Some(prepared) = self.prepared.lock().get(sql) {
            return Ok(prepared.clone());
        }
        let _waiting = self.waiting();
        let prepared = self.client.prepare(sql).await?;
        self.prepared.lock().insert(sql.into(), prepared.clone());
        Ok(prepared)
    }

    pub(crate) async fn query(&self, statement: &Statement) -> Result<Vec<Columns>, Fault> {
        let prepared = self.prepared(&statement.sql).await?;
        let _waiting = self.waiting();
        let values = statement.values.iter().map(Parameter);
        let rows = self.client.query_raw(&prepared, values).await?;
        Ok(rows.try_collect().await?)
    }

    fn has_prepared(&self, statements: &[Statement]) -> bool {
        let prepared = self.prepared.lock();
        statements.iter().all(|statement| prepared.contains_key(&statement.sql))
    }

    /// Runs statements that are sent together, in their order. The first error is that of the first statement that failed.
    pub(crate) async fn query_all(&self, statements: &[Statement]) -> Result<Vec<Vec<Columns>>, Fault> {
        for statement in statements {
            self.prepared(&statement.sql).await?;
        }
        let answers = join_all(statements.iter().map(|statement| self.query(statement)));
        answers.await.into_iter().collect()
    }

    pub(crate) async fn execute(&self, statement: &Statement) -> Result<u64, Fault> {
        let prepared = self.prepared(&statement.sql).await?;
        let _waiting = self.waiting();
        let values = statement.values.iter().map(Parameter);
        Ok(self.client.execute_raw(&prepared, values).await?)
    }

    /// Reads the selected rows.
    pub(crate) async fn rows(&self, select: &Select) -> Result<Vec<Row>, Fault> {
        let statement = Postgres.select(select)?;
        self.rows_of(select, &statement).await
    }

    /// Reads the rows that a statement selects.
    pub(crate) async fn rows_of(&self, select: &Select, statement: &Statement) -> Result<Vec<Row>, Fault> {
        let found = self.query(statement).await?;
        let rows = found.iter().map(|columns| read_row(select.entity, columns));
        rows.collect::<Result<_, _>>().map_err(Fault::Failure)
    }

    /// Counts the rows that pass the filters.
    pub(crate) async fn count(&self, select: &Select) -> Result<u64, Fault> {
        let statement = Postgres.count(select)?;
        let found = self.query(&statement).await?;
        let count = found.first().map_or(0, |columns| columns.get::<_, i64>(0));
        Ok(count.unsigned_abs())
    }
}

impl Lease {
    /// Returns the connection.
    pub(crate) fn link(&self) -> Result<&Link, Fault> {
        self.link.as_ref().ok_or_else(|| Fault::Failure(away()))
    }

    /// Ends the transaction with this statement, and returns the connection to the pool if it was answered.
    pub(crate) async fn end(mut self, sql: &str) {
        if let Some(link) = self.link.take()
            && link.select(sql).await.is_ok()
        {
            self.pool.put(link);
        }
    }

    /// Returns the connection to the pool: its transaction has ended.
    pub(crate) fn ended(mut self) {
        if let Some(link) = self.link.take() {
            self.pool.put(link);
        }
    }

    /// Closes the connection.
    pub(crate) fn close(mut self) {
        self.link = None;
    }
}

impl Drop for Lease {
    /// Rolls the transaction back.
    fn drop(&mut self) {
        let Some(link) = self.link.take() else { return };
        let (pool, permits) =
            (Arc::clone(&self.pool), std::mem::replace(&mut self.permits, Permits([None, None])));
        if let Ok(handle) = self.pool.handle() {
            handle.spawn(async move {
                if let Ok(Ok(_)) = timeout(UNDO_TIMEOUT, link.select("ROLLBACK")).await {
                    pool.put(link);
                }
                drop(permits);
            });
        }
    }
}
