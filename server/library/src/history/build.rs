//! Brings the cache up to HEAD. If it is interrupted, the file keeps its former content.

use std::{
    collections::HashMap,
    fs, io,
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

use gix::ObjectId;
use rusqlite::{
    Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior, config::DbConfig, params,
};
use tabellion_runtime::Failure;

use super::{
    ancestry::{CommitData, Visited, Walk},
    cache::{APPLICATION, Cache, CacheError, Meeting, Position, State, VERSION},
    changes::{self, Touched},
    is_entry,
};
use tabellion_platform::{FileId, file_id_at, try_lock_file};

/// Created after the tables are filled, which is faster.
const INDEXES: &str = "CREATE UNIQUE INDEX walk_id ON walk (id);
    CREATE INDEX walk_beside ON walk (place) WHERE NOT alone;
    CREATE INDEX entry_key ON entry (key) WHERE key IS NOT NULL;";
/// SQLite's page cache of the builder, in kibibytes (negative, as SQLite requires).
const PAGE_CACHE: i32 = -8 * 1024;
/// The write-ahead log is truncated to this size.
const MAX_WAL_BYTES: i32 = 1 << 20;
/// Number of commits whose changes are written in one transaction.
const CHANGES_BATCH: i64 = 500;
/// Upper bound of new commits whose changes are looked up while the write lock is held.
const MAX_CHANGES_UNDER_LOCK: usize = 1000;

/// Why the cache was not brought up to date.
#[derive(Debug, thiserror::Error)]
pub(super) enum BuildError {
    /// Another process is writing.
    #[error("another process is writing the cache")]
    Busy,
    /// The thread was asked to stop.
    #[error("stopped")]
    Stopped,
    /// The history can't be read.
    #[error("{0}")]
    Repository(Failure),
    /// The file can't be written.
    #[error(transparent)]
    Cache(CacheError),
    /// The folder can't be created.
    #[error(transparent)]
    Folder(#[from] io::Error),
}

impl From<CacheError> for BuildError {
    fn from(error: CacheError) -> Self {
        match error {
            CacheError::Sqlite(error) if is_busy(&error) => Self::Busy,
            error => Self::Cache(error),
        }
    }
}

impl From<rusqlite::Error> for BuildError {
    fn from(error: rusqlite::Error) -> Self {
        CacheError::from(error).into()
    }
}

impl From<Failure> for BuildError {
    fn from(failure: Failure) -> Self {
        Self::Repository(failure)
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
    )
}

/// The cache, open for writing.
pub(super) struct Builder {
    cache: Cache,
    file: Option<FileId>,
}

impl Builder {
    /// Opens the cache in `file`, and creates it if necessary. An invalid file is emptied in place, because other processes
    /// may have it open.
    pub(super) fn open(file: &Path) -> Result<Self, BuildError> {
        if let Some(folder) = file.parent() {
            // If the folder can't be created, neither can the file; that error is reported.
            let _ = fs::create_dir_all(folder);
        }
        let beside = |ending: &str| {
            let mut name = file.as_os_str().to_owned();
            name.push(ending);
            PathBuf::from(name)
        };
        let _opening = try_lock_file(&beside("-opening"))?.ok_or(BuildError::Busy)?;
        if !file.exists() {
            // Leftovers after a person deleted only the database. Other processes may still use theirs.
            for ending in ["-wal", "-shm"] {
                let _ = fs::remove_file(beside(ending));
            }
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let cache = Cache::connect(file, flags)?;
        let sound = cache.check().and_then(|()| cache.is_ours());
        match sound.map_err(BuildError::from) {
            Ok(true) => {}
            Err(BuildError::Busy) => return Err(BuildError::Busy),
            Ok(false) | Err(_) => reset(&cache.database)?,
        }
        let database = &cache.database;
        let mode: String = database.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))?;
        if mode != "wal" {
            // A reader would have to wait for a writer.
            return Err(BuildError::Cache(CacheError::Content));
        }
        database.pragma_update(None, "synchronous", "NORMAL")?;
        database.pragma_update(None, "cache_size", PAGE_CACHE)?;
        database.pragma_update(None, "journal_size_limit", MAX_WAL_BYTES)?;
        let file = file_id_at(file);
        Ok(Self { cache, file })
    }

    /// Returns true if the open file is still the one with that name.
    pub(super) fn is_of(&self, file: &Path) -> bool {
        // On systems without file ids, an open file can't be removed either.
        file.exists() && self.file == file_id_at(file)
    }

    /// Updates the cache to the walk from `head`.
    pub(super) fn go_to(
        &mut self,
        git: &gix::Repository,
        head: ObjectId,
        stop: &AtomicBool,
    ) -> Result<(), BuildError> {
        if self.cache.is_ours()? && self.cache.state()?.is_some_and(|state| state.head == head) {
            return Ok(());
        }
        // The connection belongs to this thread.
        let transaction = Transaction::new_unchecked(&self.cache.database, TransactionBehavior::Immediate)?;
        let state = if self.cache.is_ours()? {
            self.cache.state()?
        } else {
            None
        };
        match state {
            Some(state) if state.head == head => {}
            Some(state) if self.go_on(git, head, state, stop)?.is_continue() => {}
            _ => self.rebuild(git, head, stop)?,
        }
        transaction.commit()?;
        self.cache.database.release_memory()?;
        Ok(())
    }

    /// Adds the commits between `head` and the cached walk; breaks if they have too little in common.
    fn go_on(
        &self,
        git: &gix::Repository,
        head: ObjectId,
        state: State,
        stop: &AtomicBool,
    ) -> Result<ControlFlow<()>, BuildError> {
        let mut walk = Walk::from(git, head)?;
        let mut newer: Vec<Visited> = Vec::new();
        let place = loop {
            check(stop)?;
            if let Some(next) = walk.only() {
                match self.cache.meets(newer.iter().map(|commit| commit.id), next)? {
                    Meeting::At(place) => break place,
                    Meeting::NotHere => {}
                    Meeting::Nowhere => return Ok(ControlFlow::Break(())),
                }
            }
            let Some(visited) = walk.next(git)? else {
                return Ok(ControlFlow::Break(()));
            };
            if let Some(since) = visited.not_alone_since {
                newer
                    .iter_mut()
                    .skip(since as usize + 1)
                    .for_each(|commit| commit.alone = false);
            }
            newer.push(visited);
        };
        let database = &self.cache.database;
        let top: Position = database.query_row("SELECT min(place) FROM walk", [], |row| row.get(0))?;
        if top < place {
            for table in ["walk", "entry", "change"] {
                database.execute(&format!("DELETE FROM {table} WHERE place < ?"), [place])?;
            }
        }
        let known = newer.len() <= MAX_CHANGES_UNDER_LOCK;
        let first = place - newer.len() as Position;
        let mut names = HashMap::new();
        for (at, visited) in (first..).zip(&newer) {
            check(stop)?;
            insert(database, at, visited)?;
            if known {
                insert_changes(database, at, &changes::touched(git, &visited.commit)?, &mut names)?;
            }
        }
        let changes_before = if known {
            state.changes_before.max(place)
        } else {
            database.execute("DELETE FROM change", [])?;
            first
        };
        set_state(database, head, changes_before)?;
        Ok(ControlFlow::Continue(()))
    }

    fn rebuild(&self, git: &gix::Repository, head: ObjectId, stop: &AtomicBool) -> Result<(), BuildError> {
        let database = &self.cache.database;
        database.execute_batch(
            "DROP TABLE IF EXISTS state; DROP TABLE IF EXISTS walk; DROP TABLE IF EXISTS entry;
             DROP TABLE IF EXISTS path; DROP TABLE IF EXISTS change;",
        )?;
        database.execute_batch(include_str!("schema.sql"))?;
        database.pragma_update(None, "application_id", APPLICATION)?;
        database.pragma_update(None, "user_version", VERSION)?;
        let mut walk = Walk::from(git, head)?;
        let mut place = 0;
        while let Some(visited) = walk.next(git)? {
            check(stop)?;
            insert(database, place, &visited)?;
            if let Some(since) = visited.not_alone_since {
                database
                    .prepare_cached("UPDATE walk SET alone = 0 WHERE place > ?")?
                    .execute([since])?;
            }
            place += 1;
        }
        database.execute_batch(INDEXES)?;
        set_state(database, head, 0)
    }

    /// Looks up the changed files of some more commits; breaks when all are known.
    pub(super) fn add_changes(
        &mut self,
        git: &gix::Repository,
        stop: &AtomicBool,
    ) -> Result<ControlFlow<()>, BuildError> {
        let Some(state) = self.cache.state()? else {
            return Ok(ControlFlow::Break(()));
        };
        let commits = self.cache.commits(state.changes_before, CHANGES_BATCH)?;
        if commits.is_empty() {
            return Ok(ControlFlow::Break(()));
        }
        let mut changed = Vec::with_capacity(commits.len());
        for commit in commits {
            check(stop)?;
            changed.push(match CommitData::read(git, commit)? {
                Some(commit) => changes::touched(git, &commit)?,
                None => Vec::new(),
            });
        }
        let transaction = Transaction::new_unchecked(&self.cache.database, TransactionBehavior::Immediate)?;
        if self.cache.state()? != Some(state) {
            return Ok(ControlFlow::Continue(()));
        }
        let mut names = HashMap::new();
        let mut place = state.changes_before;
        for paths in &changed {
            insert_changes(&transaction, place, paths, &mut names)?;
            place += 1;
        }
        set_state(&transaction, state.head, place)?;
        transaction.commit()?;
        Ok(ControlFlow::Continue(()))
    }
}

/// Turns any file into an empty database, in the way that SQLite documents.
fn reset(database: &Connection) -> Result<(), BuildError> {
    database.set_db_config(DbConfig::SQLITE_DBCONFIG_RESET_DATABASE, true)?;
    let emptied = database.execute_batch("VACUUM");
    database.set_db_config(DbConfig::SQLITE_DBCONFIG_RESET_DATABASE, false)?;
    Ok(emptied?)
}

fn check(stop: &AtomicBool) -> Result<(), BuildError> {
    if stop.load(Ordering::Relaxed) {
        Err(BuildError::Stopped)
    } else {
        Ok(())
    }
}

fn set_state(database: &Connection, head: ObjectId, changes_before: Position) -> Result<(), BuildError> {
    database
        .prepare_cached("INSERT OR REPLACE INTO state (one, head, changes_before) VALUES (1, ?1, ?2)")?
        .execute(params![head.as_slice(), changes_before])?;
    Ok(())
}

fn insert(database: &Connection, place: Position, visited: &Visited) -> Result<(), BuildError> {
    database
        .prepare_cached("INSERT INTO walk (place, id, alone) VALUES (?1, ?2, ?3)")?
        .execute(params![place, visited.id.as_slice(), visited.alone])?;
    let Some(record) = visited.commit.record.as_ref().filter(|record| is_entry(record)) else {
        return Ok(());
    };
    let more = &record.paths[1..];
    let more = (!more.is_empty()).then(|| serde_json::json!(more).to_string());
    database
        .prepare_cached(
            "INSERT INTO entry (place, operation, path, tool, client, seconds, nanoseconds, summary, key, request, more, execution, caller)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
        )?
        .execute(params![
            place,
            record.operation,
            record.paths[0],
            record.tool,
            record.client,
            record.time.timestamp(),
            record.time.timestamp_subsec_nanos(),
            record.summary,
            record.key,
            record.request,
            more,
            record.call.as_ref().map(|call| &call.execution),
            record.caller,
        ])?;
    Ok(())
}

fn insert_changes(
    database: &Connection,
    place: Position,
    documents: &[Touched],
    names: &mut HashMap<String, i64>,
) -> Result<(), BuildError> {
    for Touched { path, is_same } in documents {
        let number = match names.get(path) {
            Some(number) => *number,
            None => {
                database
                    .prepare_cached("INSERT OR IGNORE INTO path (name) VALUES (?1)")?
                    .execute([path])?;
                let number = database
                    .prepare_cached("SELECT number FROM path WHERE name = ?1")?
                    .query_row([path], |row| row.get(0))?;
                names.insert(path.clone(), number);
                number
            }
        };
        database
            .prepare_cached("INSERT OR IGNORE INTO change (path, place, same) VALUES (?1, ?2, ?3)")?
            .execute(params![number, place, is_same])?;
    }
    Ok(())
}
