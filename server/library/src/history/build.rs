//! Brings the cache up to HEAD. If it is interrupted, the file keeps its former content.

use std::{
    collections::HashMap,
    fs, io,
    ops::ControlFlow,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use gix::ObjectId;
use rusqlite::{Connection, Transaction, TransactionBehavior, params};
use tabellion_runtime::Failure;
use tabellion_sqlite::{Content as _, FileError, LOG, beside, is_busy};

use super::{
    ancestry::{CommitData, Visited, Walk},
    cache::{Cache, CacheError, Meeting, Position, State, Tables},
    changes::{self, Made, Touched},
    entry::is_entry,
};
use tabellion_platform::{FileId, create_folders, file_id_at, try_lock_file};

/// Created after the tables are filled, which is faster.
const INDEXES: &str = "CREATE UNIQUE INDEX walk_id ON walk (id);
    CREATE INDEX walk_beside ON walk (place) WHERE NOT alone;
    CREATE INDEX entry_key ON entry (key) WHERE key IS NOT NULL;";
/// SQLite's page cache of the builder, in kibibytes (negative, as SQLite requires).
const PAGE_CACHE: i32 = -8 * 1024;
/// Number of commits whose changes are written in one transaction.
const CHANGES_BATCH: i64 = 500;
/// Upper bound of new commits whose changes are written with them, in one transaction.
const MAX_NEW_CHANGES: usize = 1000;
/// Number of changed documents after which no further commit is added to a transaction.
const MAX_DOCUMENTS: usize = 20_000;

/// Error when updating the cache.
#[derive(Debug, thiserror::Error)]
pub(super) enum BuildError {
    /// Another process is writing.
    #[error("another process is writing the cache")]
    Busy,
    /// The process died in the last runs.
    #[error("writing the log's cache has ended the server twice and is not tried again")]
    Failed,
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

impl From<FileError> for BuildError {
    fn from(error: FileError) -> Self {
        CacheError::from(error).into()
    }
}

impl From<Failure> for BuildError {
    fn from(failure: Failure) -> Self {
        Self::Repository(failure)
    }
}

/// The cache, open for writing.
pub(super) struct Builder {
    cache: Cache,
    file: Option<FileId>,
    made: Arc<Made>,
}

impl Builder {
    /// Opens the cache in `file`, and creates it if necessary. A file that is damaged or of a different version is emptied.
    pub(super) fn open(file: &Path, made: Arc<Made>) -> Result<Self, BuildError> {
        if let Some(folder) = file.parent() {
            // If the folder can't be created, neither can the file; that error is reported.
            let _ = create_folders(folder, 1);
        }
        let _opening = try_lock_file(&beside(file, "-opening"))?.ok_or(BuildError::Busy)?;
        if !file.exists() {
            // Leftovers after a person deleted only the database. Other processes may still use theirs.
            for ending in ["-wal", "-shm"] {
                let _ = fs::remove_file(beside(file, ending));
            }
        }
        let database = LOG.open_shared(file, &Tables)?;
        let mode: String = database.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))?;
        if mode != "wal" {
            // A reader would have to wait for a writer.
            return Err(BuildError::Cache(CacheError::Content));
        }
        database.pragma_update(None, "cache_size", PAGE_CACHE)?;
        Ok(Self { cache: Cache { database }, file: file_id_at(file), made })
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
        let state = self.state()?;
        if state.is_some_and(|state| state.head == head) {
            return Ok(());
        }
        // Trees are compared before the transaction, since that can take long.
        let newer = match state {
            Some(_) => self.cache.at_once(|| self.newer(git, head, stop))?,
            None => None,
        };
        // The connection belongs to this thread.
        let transaction = Transaction::new_unchecked(&self.cache.database, TransactionBehavior::Immediate)?;
        if self.state()? != state {
            return Err(BuildError::Busy);
        }
        match state.zip(newer) {
            Some((state, newer)) => self.go_on(head, state, &newer, stop)?,
            None => self.rebuild(git, head, stop)?,
        }
        transaction.commit()?;
        self.cache.database.release_memory()?;
        Ok(())
    }

    /// Returns the state; `None` if the cache is empty, or another version's.
    fn state(&self) -> Result<Option<State>, CacheError> {
        if self.cache.is_ours()? { self.cache.state() } else { Ok(None) }
    }

    /// Reads the commits between `head` and the cached walk; `None` if they have too little in common.
    fn newer(
        &self,
        git: &gix::Repository,
        head: ObjectId,
        stop: &AtomicBool,
    ) -> Result<Option<Newer>, BuildError> {
        let mut walk = Walk::from(git, head)?;
        let mut commits: Vec<Visited> = Vec::new();
        let place = loop {
            check(stop)?;
            if let Some(next) = walk.only() {
                match self.cache.meets(commits.iter().map(|commit| commit.id), next)? {
                    Meeting::At(place) => break place,
                    Meeting::NotHere => {}
                    Meeting::Nowhere => return Ok(None),
                }
            }
            let Some(visited) = walk.next(git)? else {
                return Ok(None);
            };
            if let Some(since) = visited.not_alone_since {
                commits.iter_mut().skip(since as usize + 1).for_each(|commit| commit.alone = false);
            }
            commits.push(visited);
        };
        let mut changes = Vec::new();
        let mut documents = 0;
        if commits.len() <= MAX_NEW_CHANGES {
            for visited in &commits {
                check(stop)?;
                let touched = self.made.touched(git, visited.id, &visited.commit, changes::OF_CACHE)?;
                documents += touched.len();
                changes.push(touched);
                if documents > MAX_DOCUMENTS {
                    break;
                }
            }
        }
        let are_known = changes.len() == commits.len();
        Ok(Some(Newer { place, commits, changes: are_known.then_some(changes) }))
    }

    /// Adds the commits before the cached walk.
    fn go_on(
        &self,
        head: ObjectId,
        state: State,
        newer: &Newer,
        stop: &AtomicBool,
    ) -> Result<(), BuildError> {
        let Newer { place, commits, changes } = newer;
        let database = &self.cache.database;
        let top: Position = database.query_row("SELECT min(place) FROM walk", [], |row| row.get(0))?;
        if top < *place {
            for table in ["walk", "entry", "change"] {
                database.execute(&format!("DELETE FROM {table} WHERE place < ?"), [place])?;
            }
        }
        let first = place - commits.len() as Position;
        for (at, visited) in (first..).zip(commits) {
            check(stop)?;
            insert(database, at, visited)?;
        }
        let changes_before = match changes {
            Some(changes) => {
                let mut names = HashMap::new();
                for (at, documents) in (first..).zip(changes) {
                    insert_changes(database, at, documents, &mut names)?;
                }
                state.changes_before.max(*place)
            }
            None => {
                database.execute("DELETE FROM change", [])?;
                first
            }
        };
        set_state(database, head, changes_before)
    }

    fn rebuild(&self, git: &gix::Repository, head: ObjectId, stop: &AtomicBool) -> Result<(), BuildError> {
        let database = &self.cache.database;
        database.execute_batch(
            "DROP TABLE IF EXISTS state; DROP TABLE IF EXISTS walk; DROP TABLE IF EXISTS entry;
             DROP TABLE IF EXISTS path; DROP TABLE IF EXISTS change;",
        )?;
        Tables.create(database)?;
        LOG.set_format(database)?;
        let mut walk = Walk::from(git, head)?;
        let mut place = 0;
        while let Some(visited) = walk.next(git)? {
            check(stop)?;
            insert(database, place, &visited)?;
            if let Some(since) = visited.not_alone_since {
                database.prepare_cached("UPDATE walk SET alone = 0 WHERE place > ?")?.execute([since])?;
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
        let mut changed = Vec::new();
        let mut documents = 0;
        for commit in commits {
            check(stop)?;
            let touched = match CommitData::read(git, commit)? {
                Some(data) => self.made.touched(git, commit, &data, changes::OF_CACHE)?,
                None => Vec::new(),
            };
            documents += touched.len();
            changed.push(touched);
            if documents > MAX_DOCUMENTS {
                break;
            }
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

/// Commits to add before the cached walk.
struct Newer {
    /// The position from which on the cached walk stays.
    place: Position,
    /// Newest first.
    commits: Vec<Visited>,
    /// The documents that each touched; `None` if that is to be looked up later.
    changes: Option<Vec<Vec<Touched>>>,
}

fn check(stop: &AtomicBool) -> Result<(), BuildError> {
    if stop.load(Ordering::Relaxed) { Err(BuildError::Stopped) } else { Ok(()) }
}

fn set_state(database: &Connection, head: ObjectId, changes_before: Position) -> Result<(), BuildError> {
    database
        .prepare_cached("INSERT OR REPLACE INTO state (one, head, changes_before) VALUES (1, ?1, ?2)")?
        .execute(params![head.as_slice(), changes_before])?;
    Ok(())
}

fn insert(database: &Connection, place: Position, visited: &Visited) -> Result<(), BuildError> {
    database.prepare_cached("INSERT INTO walk (place, id, alone) VALUES (?1, ?2, ?3)")?.execute(params![
        place,
        visited.id.as_slice(),
        visited.alone
    ])?;
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
                database.prepare_cached("INSERT OR IGNORE INTO path (name) VALUES (?1)")?.execute([path])?;
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
