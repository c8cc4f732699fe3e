//! The index: runs, their states, and readers.

use std::{
    collections::{HashMap, HashSet},
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use parking_lot::Mutex;
use rusqlite::{Connection, OptionalExtension, Transaction, params};
use tabellion_platform::{FileId, FileLock, file_id_at, try_lock_file, try_share_lock};
use tabellion_sqlite::{CODE, Format, Pool};

use crate::{
    CodeError, Failed, Stop, Tree,
    columns::Columns,
    file::Tables,
    run::{self, Step},
    write,
};

/// Maximum number of failed files that a collection names.
pub const MAX_FAILURES: usize = 20;
/// A run counts as failed once its process has ended this often before the run did, without a file stored in between: one of the files
/// may be the cause.
const MAX_DEATHS: i64 = 2;
/// Number of connections that are kept for later calls.
const MAX_IDLE: usize = 8;
/// A run waits this long for status readers that hold its lock for a moment.
const LOOKED_AT: Duration = Duration::from_secs(2);

/// State of a collection's last run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It is done: the collection has the tree's files.
    Idle,
    /// It goes on, here or in another process.
    Indexing,
    /// It ended with an error.
    Failed,
    /// Its process ended before it did, or it was stopped.
    Interrupted,
}

impl State {
    /// Returns the state's name.
    pub fn word(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Indexing => "indexing",
            Self::Failed => "failed",
            Self::Interrupted => "interrupted",
        }
    }
}

/// Contents of a collection, and progress of its last run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// The name of the run.
    pub operation: String,
    /// The folder that the run was begun for.
    pub path: String,
    /// Its state.
    pub state: State,
    /// Number of files of the tree; 0 until they are listed.
    pub files_total: u64,
    /// Number of them that the collection has in their current version.
    pub files_done: u64,
    /// Number of them that could not be read, or are not text.
    pub files_failed: u64,
    /// The first of the failed files, at most [`MAX_FAILURES`].
    pub failures: Vec<Failed>,
    /// Number of them that were left out: they may have secrets, or are minified.
    pub files_left_out: u64,
    /// Number of chunks in the collection.
    pub chunks: u64,
    /// Start of the run, in Unix seconds.
    pub started_at: i64,
    /// End of the run, in Unix seconds.
    pub finished_at: Option<i64>,
    /// Its error, if it failed.
    pub error: Option<String>,
}

/// Result of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Number of files of the tree.
    pub total: u64,
    /// Number of files that were indexed, since they were new or changed.
    pub changed: u64,
    /// Number of files that are no longer there.
    pub removed: u64,
    /// Number of files that were left out: they may have secrets, or are minified.
    pub left_out: u64,
    /// Files that could not be indexed.
    pub failed: Vec<Failed>,
}

/// An index of source files: collections of files, in one SQLite file. It can be shared by threads and processes.
pub struct CodeIndex {
    path: PathBuf,
    id: Option<FileId>,
    idle: Pool,
    /// Keeps the index of the file's log open for writing, even if the disk fails while other connections are opened.
    _writable: Mutex<Connection>,
    /// Held by the thread that writes. SQLite's writers retry after a pause, so one of many could always come too late; waiters for
    /// this lock take turns.
    turn: Mutex<()>,
    /// Columns of collections, by key.
    columns: Mutex<HashMap<String, Arc<Columns>>>,
}

impl CodeIndex {
    /// Opens the index at `path`. One that is missing, damaged or of a different version is made anew, empty.
    ///
    /// # Errors
    /// If the file can't be made or read.
    pub fn open(path: &Path) -> Result<Self, CodeError> {
        let writable = CODE.open(path, &Tables)?;
        Ok(Self {
            path: path.to_owned(),
            id: file_id_at(path),
            idle: Pool::new(MAX_IDLE),
            _writable: Mutex::new(writable),
            turn: Mutex::default(),
            columns: Mutex::default(),
        })
    }

    /// Returns false if the file was removed or replaced since it was opened: what is stored in it then is lost.
    pub fn is_in_place(&self) -> bool {
        file_id_at(&self.path) == self.id
    }

    /// Runs `work` with a pooled connection.
    pub(crate) fn with<T>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, CodeError>,
    ) -> Result<T, CodeError> {
        let mut connection = self.idle.take(|| CODE.connect(&self.path))?;
        check_version(&connection)?;
        let result = work(&mut connection)?;
        // While a disk fails, SQLite opens files read-only.
        if !connection.is_readonly("main")? {
            self.idle.put(connection);
        }
        Ok(result)
    }

    /// Runs `work` in a transaction that writes, however long other threads and processes write before it.
    ///
    /// # Errors
    /// [`CodeError::Busy`] if it still waits when `stop` is set; else the error of `work`, or of the database.
    fn write<T>(
        &self,
        connection: &Connection,
        stop: &Stop,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, CodeError>,
    ) -> Result<T, CodeError> {
        loop {
            if let Some(_turn) = self.turn.try_lock_for(CODE.busy_timeout) {
                match write::begin(connection) {
                    Ok(transaction) => {
                        check_version(&transaction)?;
                        let result = work(&transaction)?;
                        transaction.commit()?;
                        return Ok(result);
                    }
                    Err(CodeError::Busy) => {}
                    Err(error) => return Err(error),
                }
            }
            if stop.is_asked() {
                return Err(CodeError::Busy);
            }
        }
    }

    /// Begins a run of a collection: from now on its state is `indexing`, until the run is done or dropped. `operation` names it, and
    /// `path` is the folder that the status names.
    ///
    /// # Errors
    /// [`CodeError::Busy`] if a run of it is under way, here or in another process; [`CodeError::Abandoned`] if the process of this
    /// operation ended twice before the run did: its state is `failed` then, until a run with a different name.
    pub fn begin(self: &Arc<Self>, key: &str, operation: &str, path: &str) -> Result<Run, CodeError> {
        self.with(|connection| {
            let held = self.lock(connection, key)?;
            let insert = |transaction: &Transaction<'_>| insert(transaction, key, operation, path);
            let collection = self.write(connection, &Stop::default(), insert)?;
            let collection = collection.ok_or(CodeError::Abandoned)?;
            let index = Arc::clone(self);
            Ok(Run { index, collection, _held: held })
        })
    }

    /// Takes the lock of a collection's runs, which ends with the process.
    fn lock(&self, connection: &Connection, key: &str) -> Result<FileLock, CodeError> {
        let path = self.lock_path(key);
        tabellion_platform::create_own(&path).map_err(CodeError::io(&path))?;
        let begun = Instant::now();
        loop {
            if let Some(lock) = try_lock_file(&path).map_err(CodeError::io(&path))? {
                return Ok(lock);
            }
            // Status readers hold it for a moment; during a run, the row's state is `indexing`.
            let running = status_row(connection, key)?.is_some_and(|status| status.state == State::Indexing);
            if running || begun.elapsed() > LOOKED_AT {
                return Err(CodeError::Busy);
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn lock_path(&self, key: &str) -> PathBuf {
        let safe = data_encoding::HEXLOWER.encode(&run::blob_id(key.as_bytes())[..8]);
        self.path.with_extension(format!("run-{safe}"))
    }

    /// Returns the status of a collection; `None` if no run of it was ever announced.
    ///
    /// # Errors
    /// If the index can't be read.
    pub fn status(&self, key: &str) -> Result<Option<Status>, CodeError> {
        self.with(|connection| {
            let Some(mut status) = status_row(connection, key)? else {
                return Ok(None);
            };
            if status.state == State::Indexing && self.is_free(key)? {
                // It may have ended between the two reads.
                let Some(again) = status_row(connection, key)? else {
                    return Ok(None);
                };
                status = again;
                if status.state == State::Indexing {
                    status.state = State::Interrupted;
                }
            }
            Ok(Some(status))
        })
    }

    /// Returns true if no process runs the collection.
    fn is_free(&self, key: &str) -> Result<bool, CodeError> {
        let path = self.lock_path(key);
        if !path.exists() {
            return Ok(true);
        }
        Ok(try_share_lock(&path).map_err(CodeError::io(&path))?.is_some())
    }

    /// Removes a collection; returns its numbers of files and chunks, or `None` if it does not exist. A run of it must have
    /// ended.
    ///
    /// # Errors
    /// [`CodeError::Busy`] if a run of it is under way in another process.
    pub fn clear(&self, key: &str) -> Result<Option<(u64, u64)>, CodeError> {
        self.with(|connection| {
            let _held = self.lock(connection, key)?;
            let removed = self.write(connection, &Stop::default(), |transaction| {
                let sql = "SELECT number FROM collection WHERE key = ?";
                let number: Option<i64> = transaction.query_row(sql, [key], |row| row.get(0)).optional()?;
                number.map(|number| write::clear(transaction, number)).transpose()
            })?;
            let Some((files, chunks)) = removed else {
                return Ok(None);
            };
            self.columns.lock().remove(key);
            let _ = std::fs::remove_file(self.lock_path(key));
            Ok(Some((files as u64, chunks as u64)))
        })
    }

    /// Returns the numbers of files and chunks of a collection.
    ///
    /// # Errors
    /// If the index can't be read.
    pub fn counts(&self, key: &str) -> Result<(u64, u64), CodeError> {
        self.with(|connection| {
            let sql = "SELECT number FROM collection WHERE key = ?";
            let number: Option<i64> = connection.query_row(sql, [key], |row| row.get(0)).optional()?;
            let Some(number) = number else { return Ok((0, 0)) };
            let (files, chunks) = write::counts(connection, number)?;
            Ok((files as u64, chunks as u64))
        })
    }

    /// Returns the keys of all collections.
    ///
    /// # Errors
    /// If the index can't be read.
    pub fn keys(&self) -> Result<Vec<String>, CodeError> {
        self.with(|connection| {
            let mut select = connection.prepare_cached("SELECT key FROM collection ORDER BY key")?;
            let keys = select.query_map([], |row| row.get(0))?;
            Ok(keys.collect::<Result<_, _>>()?)
        })
    }

    /// Returns the columns of a collection, as new as the snapshot of `connection`; `None` if there is no such collection.
    pub(crate) fn columns(
        &self,
        connection: &Connection,
        key: &str,
    ) -> Result<Option<Arc<Columns>>, CodeError> {
        let sql = "SELECT number, generation FROM collection WHERE key = ?";
        let row = connection
            .prepare_cached(sql)?
            .query_row([key], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        let Some((collection, generation)) = row else {
            return Ok(None);
        };
        if let Some(known) = self.columns.lock().get(key)
            && known.collection == collection
            && known.generation == generation
        {
            return Ok(Some(Arc::clone(known)));
        }
        let columns = Arc::new(Columns::read(connection, collection, generation)?);
        self.columns.lock().insert(key.to_owned(), Arc::clone(&columns));
        Ok(Some(columns))
    }
}

/// Returns the folders whose last run failed, each with the error. The index is neither changed nor made; one of a different version is
/// made anew by the next server.
///
/// # Errors
/// If there is an index that can't be read.
pub fn failures(path: &Path) -> Result<Vec<(String, String)>, CodeError> {
    if !path.exists() {
        return Ok(vec![]);
    }
    let connection = CODE.connect_read_only(path)?;
    if CODE.format(&connection)? != Format::Current {
        return Ok(vec![]);
    }
    let sql = "SELECT path, ifnull(error, '') FROM collection WHERE state = 'failed' ORDER BY path, number";
    let mut select = connection.prepare(sql)?;
    let failed = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(failed.collect::<Result<_, _>>()?)
}

/// Checks that no other version of the program has made the file anew, in place, since it was opened.
fn check_version(connection: &Connection) -> Result<(), CodeError> {
    match CODE.format(connection)? {
        Format::Current => Ok(()),
        _ => Err(CodeError::Remade),
    }
}

/// A run that has begun. If it is dropped before it is done, or its process ends, it is interrupted.
pub struct Run {
    index: Arc<CodeIndex>,
    collection: i64,
    _held: FileLock,
}

impl Run {
    /// Ends the run with an earlier error, which the status reports.
    ///
    /// # Errors
    /// Always the error.
    pub fn fail(self, error: CodeError) -> Result<(), CodeError> {
        self.end(&Stop::default(), |_| Err(CodeError::Listing(error.to_string())))
    }

    /// Brings the collection up to date with `tree`.
    ///
    /// # Errors
    /// [`CodeError::Ended`] if it was stopped; else the error that the status reports too.
    pub fn finish(self, tree: &dyn Tree, stop: &Stop) -> Result<Outcome, CodeError> {
        self.end(stop, |connection| self.bring_up(connection, tree, stop))
    }

    /// Does the work of the run, and stores how it ended.
    fn end<T>(
        &self,
        stop: &Stop,
        work: impl FnOnce(&Connection) -> Result<T, CodeError>,
    ) -> Result<T, CodeError> {
        self.index.with(|connection| {
            let result = work(connection);
            let (state, error) = match &result {
                Ok(_) => (State::Idle, None),
                Err(CodeError::Ended) => (State::Interrupted, None),
                Err(error) => (State::Failed, Some(error.to_string())),
            };
            self.index.write(connection, stop, |transaction| {
                let sql = "UPDATE collection SET state = ?, error = ?, finished_at = ? WHERE number = ?";
                Ok(transaction.execute(sql, params![state.word(), error, now(), self.collection])?)
            })?;
            result
        })
    }

    /// Brings the collection up to date with a tree, in a transaction for each step.
    fn bring_up(&self, connection: &Connection, tree: &dyn Tree, stop: &Stop) -> Result<Outcome, CodeError> {
        let collection = self.collection;
        let entries = tree.entries(stop)?;
        let known = write::files(connection, collection)?;
        self.index.write(connection, stop, |transaction| {
            let sql = "UPDATE collection SET total = ? WHERE number = ?";
            Ok(transaction.execute(sql, params![entries.len() as i64, collection])?)
        })?;
        let mut outcome = Outcome { total: entries.len() as u64, ..Outcome::default() };
        let mut not_taken: HashSet<write::Name> = HashSet::new();
        run::cut(tree, &entries, &known, stop, |step| {
            self.index.write(connection, stop, |transaction| {
                let (done, not, left_out) = match step {
                    Step::Changed { segment, unchanged } => {
                        let changed = segment.files.len();
                        outcome.changed += changed as u64;
                        write::add(transaction, collection, segment)?;
                        write::touch(transaction, collection)?;
                        let sql = "UPDATE collection SET deaths = 0 WHERE number = ?";
                        transaction.prepare_cached(sql)?.execute([collection])?;
                        (changed + unchanged, 0, 0)
                    }
                    Step::Unchanged(unchanged) => (unchanged, 0, 0),
                    Step::LeftOut(file) => {
                        not_taken.insert(file);
                        outcome.left_out += 1;
                        (0, 0, 1)
                    }
                    Step::Failed(file) => {
                        not_taken.insert((file.branch.clone(), file.path.clone()));
                        if outcome.failed.len() < MAX_FAILURES {
                            let sql =
                                "INSERT INTO failure (collection, branch, path, reason) VALUES (?, ?, ?, ?)";
                            let told = params![collection, file.branch, file.path, file.reason];
                            transaction.prepare_cached(sql)?.execute(told)?;
                        }
                        outcome.failed.push(file);
                        (0, 1, 0)
                    }
                };
                let sql =
                    "UPDATE collection SET done = done + ?, failed = failed + ?, left_out = left_out + ?
                           WHERE number = ?";
                transaction.prepare_cached(sql)?.execute(params![done as i64, not, left_out, collection])?;
                Ok(())
            })
        })?;
        let gone = run::gone(&entries, &known, &not_taken);
        if !gone.is_empty() {
            self.index.write(connection, stop, |transaction| {
                for (branch, path) in &gone {
                    write::remove(transaction, collection, branch, path)?;
                }
                write::touch(transaction, collection)
            })?;
        }
        outcome.removed = gone.len() as u64;
        let tidy = |transaction: &Transaction<'_>| write::tidy(transaction, collection);
        while self.index.write(connection, stop, tidy)? {}
        Ok(outcome)
    }
}

/// Makes or resets the row of a run; `None` if it has failed because its process ended too often. Its lock is held: a row with the
/// state `indexing` is that of a process that ended.
fn insert(connection: &Connection, key: &str, operation: &str, path: &str) -> Result<Option<i64>, CodeError> {
    let sql = "INSERT INTO collection (key, generation, operation, path, state, total, done, failed, left_out, started_at, deaths)
               VALUES (?1, 1, ?2, ?4, 'indexing', 0, 0, 0, 0, ?3, 0)
               ON CONFLICT (key) DO UPDATE SET
                   deaths = CASE WHEN operation <> ?2 THEN 0 WHEN state = 'indexing' THEN deaths + 1 ELSE deaths END,
                   operation = ?2, path = ?4, state = 'indexing', total = 0, done = 0, failed = 0, left_out = 0,
                   started_at = ?3, finished_at = NULL, error = NULL
               RETURNING number, deaths";
    let row = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?));
    let (number, deaths) = connection.query_row(sql, params![key, operation, now(), path], row)?;
    connection.execute("DELETE FROM failure WHERE collection = ?", [number])?;
    if deaths < MAX_DEATHS {
        return Ok(Some(number));
    }
    let sql = "UPDATE collection SET state = 'failed', error = ?, finished_at = ? WHERE number = ?";
    connection.execute(sql, params![CodeError::Abandoned.to_string(), now(), number])?;
    Ok(None)
}

/// Returns the files of a collection that the last run could not index, as far as they are kept.
fn failed_files(connection: &Connection, collection: i64) -> Result<Vec<Failed>, CodeError> {
    let sql = "SELECT branch, path, reason FROM failure WHERE collection = ? ORDER BY branch, path";
    let mut statement = connection.prepare_cached(sql)?;
    let failed = statement.query_map([collection], |row| {
        Ok(Failed { branch: row.get(0)?, path: row.get(1)?, reason: row.get(2)? })
    })?;
    Ok(failed.collect::<Result<_, _>>()?)
}

fn status_row(connection: &Connection, key: &str) -> Result<Option<Status>, CodeError> {
    let sql = "SELECT number, operation, state, total, done, failed, started_at, finished_at, error, left_out, path FROM collection WHERE key = ?";
    let row = connection.prepare_cached(sql)?.query_row([key], |row| {
        let state: String = row.get(2)?;
        let status = Status {
            operation: row.get(1)?,
            path: row.get(10)?,
            state: match state.as_str() {
                "idle" => State::Idle,
                "failed" => State::Failed,
                "interrupted" => State::Interrupted,
                _ => State::Indexing,
            },
            files_total: row.get::<_, i64>(3)? as u64,
            files_done: row.get::<_, i64>(4)? as u64,
            files_failed: row.get::<_, i64>(5)? as u64,
            failures: vec![],
            files_left_out: row.get::<_, i64>(9)? as u64,
            chunks: 0,
            started_at: row.get(6)?,
            finished_at: row.get(7)?,
            error: row.get(8)?,
        };
        Ok((row.get::<_, i64>(0)?, status))
    });
    let Some((number, mut status)) = row.optional()? else {
        return Ok(None);
    };
    status.chunks = write::counts(connection, number)?.1 as u64;
    status.failures = failed_files(connection, number)?;
    Ok(Some(status))
}

fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64)
}
