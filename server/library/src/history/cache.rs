//! The on-disk cache of a history, for reading.
//!
//! The file `log.sqlite` in our own folder holds the complete walk from one commit, or is empty. A reader follows HEAD's ancestors
//! until the only remaining commit is `alone` in the file: from there on, file and walk are equal, regardless of changes to the
//! branch. The file is therefore never wrong, only more or less useful. It may be deleted at any time.
//!
//! Readers never wait for it: a lock held by another process is an error, and readers continue without the cache.

use std::path::Path;

use chrono::DateTime;
use gix::ObjectId;
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use tabellion_sqlite::{Content, FileError, Format, LOG, check};

use super::{
    super::commit_message::{Record, RecordedCall},
    changes::ANY,
    entry::LogEntry,
};

/// SQLite's page cache of a reader, in kibibytes (negative, as SQLite requires).
const READER_PAGE_CACHE: i32 = -512;

/// Error when using the cache.
#[derive(Debug, thiserror::Error)]
pub(super) enum CacheError {
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    /// The file can't be created or locked.
    #[error(transparent)]
    File(FileError),
    /// The file belongs to another program or version, or is damaged.
    #[error("the file does not hold what it should")]
    Content,
}

impl From<FileError> for CacheError {
    fn from(error: FileError) -> Self {
        match error {
            FileError::Sqlite(error) => Self::Sqlite(error),
            error => Self::File(error),
        }
    }
}

/// The tables of a cache, without the indexes that its builder adds. All of it is read, because its writer is unknown.
pub(super) struct Tables;

impl Content for Tables {
    fn create(&self, connection: &Connection) -> rusqlite::Result<()> {
        connection.execute_batch(include_str!("schema.sql"))
    }

    fn is_current(&self, connection: &Connection) -> rusqlite::Result<bool> {
        check(connection).map(|problem| problem.is_none())
    }
}

/// A commit's position in the cached walk.
pub(super) type Position = i64;

/// An open cache.
#[derive(Debug)]
pub(super) struct Cache {
    pub(super) database: Connection,
}

/// The state of the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct State {
    /// First commit of the cached walk.
    pub(super) head: ObjectId,
    /// The changed files are known of the commits before this position.
    pub(super) changes_before: Position,
}

impl Cache {
    /// Opens the cache in `file` for reading. With `check`, verifies all of it, because its writer is unknown.
    pub(super) fn open(file: &Path, check: bool) -> Result<Self, CacheError> {
        // A reader of a database in WAL mode writes to its shared memory.
        let database = LOG.connect(file)?;
        database.pragma_update(None, "cache_size", READER_PAGE_CACHE)?;
        let cache = Self { database };
        if !cache.is_ours()? || cache.state()?.is_none() {
            return Err(CacheError::Content);
        }
        if check {
            cache.check()?;
        }
        Ok(cache)
    }

    /// Returns true if the file is this program's and has this version.
    pub(super) fn is_ours(&self) -> Result<bool, CacheError> {
        Ok(LOG.format(&self.database)? == Format::Current)
    }

    /// Fails if another version has taken over the file since it was opened.
    fn check_version(&self) -> Result<(), CacheError> {
        let mut query = self.database.prepare_cached("PRAGMA user_version")?;
        let version: i32 = query.query_row([], |row| row.get(0))?;
        if version == LOG.format { Ok(()) } else { Err(CacheError::Content) }
    }

    /// Fails if the file is damaged.
    pub(super) fn check(&self) -> Result<(), CacheError> {
        match check(&self.database)? {
            Some(_) => Err(CacheError::Content),
            None => Ok(()),
        }
    }

    /// Runs `read` on a consistent snapshot of the cache.
    pub(super) fn at_once<T, E: From<CacheError>>(
        &self,
        read: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        let snapshot = self.database.unchecked_transaction().map_err(CacheError::from)?;
        self.check_version()?;
        let read = read()?;
        snapshot.finish().map_err(CacheError::from)?;
        Ok(read)
    }

    /// Returns the state; `None` if the cache is empty.
    pub(super) fn state(&self) -> Result<Option<State>, CacheError> {
        let mut query = self.database.prepare_cached("SELECT head, changes_before FROM state")?;
        let state = query.query_row([], |row| Ok((row.get::<_, Vec<u8>>(0)?, row.get(1)?))).optional()?;
        state.map(|(head, changes_before)| Ok(State { head: object_id(&head)?, changes_before })).transpose()
    }

    /// Returns a commit's position, and true if it is alone there.
    pub(super) fn find(&self, commit: ObjectId) -> Result<Option<(Position, bool)>, CacheError> {
        let mut query = self.database.prepare_cached("SELECT place, alone FROM walk WHERE id = ?")?;
        Ok(query.query_row([commit.as_slice()], |row| Ok((row.get(0)?, row.get(1)?))).optional()?)
    }

    /// Returns the position from which the cached walk equals that from `commit`, if it does.
    pub(super) fn alone(&self, commit: ObjectId) -> Result<Option<Position>, CacheError> {
        let found = self.find(commit)?;
        Ok(found.filter(|(_, alone)| *alone).map(|(place, _)| place))
    }

    /// Returns the position from which the cached walk equals one that visited `visited` and can only continue at `next`.
    ///
    /// With wrong clocks, `visited` may contain ancestors of `next`, which are not visited again.
    pub(super) fn meets(
        &self,
        visited: impl Iterator<Item = ObjectId>,
        next: ObjectId,
    ) -> Result<Meeting, CacheError> {
        let Some(place) = self.alone(next)? else {
            return Ok(Meeting::NotHere);
        };
        for commit in visited {
            if self.find(commit)?.is_some_and(|(other, _)| other >= place) {
                return Ok(Meeting::Nowhere);
            }
        }
        Ok(Meeting::At(place))
    }

    /// Returns the first `limit` entries from `place` on of the library at `prefix`, newest first.
    pub(super) fn entries(
        &self,
        place: Position,
        prefix: &str,
        limit: usize,
    ) -> Result<Vec<LogEntry>, CacheError> {
        let mut query = self.database.prepare_cached(
            "SELECT id, operation, path, tool, client, seconds, nanoseconds, summary, key, request, more, execution, caller
             FROM entry JOIN walk USING (place)
             WHERE place >= ?1 AND path >= ?2 AND (?3 IS NULL OR path < ?3) ORDER BY place LIMIT ?4",
        )?;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let mut rows = query.query(params![place, prefix, end_of_prefix(prefix), limit])?;
        let mut entries = Vec::new();
        while let Some(row) = rows.next()? {
            entries.push(entry(row, prefix)?);
        }
        Ok(entries)
    }

    /// Returns the newest entry from `place` on of the library at `prefix` with this idempotency key.
    pub(super) fn entry_with_key(
        &self,
        place: Position,
        prefix: &str,
        key: &str,
    ) -> Result<Option<LogEntry>, CacheError> {
        let mut query = self.database.prepare_cached(
            "SELECT id, operation, path, tool, client, seconds, nanoseconds, summary, key, request, more, execution, caller
             FROM entry JOIN walk USING (place)
             WHERE key = ?4 AND place >= ?1 AND path >= ?2 AND (?3 IS NULL OR path < ?3) ORDER BY place LIMIT 1",
        )?;
        let mut rows = query.query(params![place, prefix, end_of_prefix(prefix), key])?;
        rows.next()?.map(|row| entry(row, prefix)).transpose()
    }

    /// Follows the commits from `place` on, where one is alone, each the only parent of the one before, as long as they are known
    /// to have neither changed nor named the file at the git path `path`, and are not among `known`; returns the commit at which
    /// that ends.
    pub(super) fn unchanged_from(
        &self,
        place: Position,
        path: &str,
        known: &[ObjectId],
    ) -> Result<Option<ObjectId>, CacheError> {
        let Some(state) = self.state()? else {
            return Ok(None);
        };
        let first =
            |query: &str, parameters: &[&dyn rusqlite::ToSql]| -> Result<Option<Position>, CacheError> {
                let mut query = self.database.prepare_cached(query)?;
                Ok(query.query_row(parameters, |row| row.get(0))?)
            };
        let touched = |name: &str| {
            first(
                "SELECT min(place) FROM change WHERE path = (SELECT number FROM path WHERE name = ?2) AND place >= ?1",
                &[&place, &name],
            )
        };
        // A commit that is alone, after another that is, is its only parent.
        let beside = first("SELECT min(place) FROM walk WHERE NOT alone AND place >= ?1", &[&place])?;
        let last = first("SELECT max(place) FROM walk", &[])?;
        let before = |place: Option<Position>| place.map(|place| place - 1);
        let ends = [touched(path)?, touched(ANY)?, before(beside), before(Some(state.changes_before)), last];
        let mut end = ends.into_iter().flatten().min().unwrap_or(place).max(place);
        for commit in known {
            if let Some((at, _)) = self.find(*commit)?.filter(|(at, _)| *at >= place) {
                end = end.min(at);
            }
        }
        Ok(self.commits(end, 1)?.first().copied())
    }

    /// Returns at most `limit` commits from `place` on.
    pub(super) fn commits(&self, place: Position, limit: i64) -> Result<Vec<ObjectId>, CacheError> {
        let mut query =
            self.database.prepare_cached("SELECT id FROM walk WHERE place >= ?1 ORDER BY place LIMIT ?2")?;
        let mut rows = query.query(params![place, limit])?;
        let mut commits = Vec::new();
        while let Some(row) = rows.next()? {
            commits.push(object_id(row.get_ref(0)?.as_blob().map_err(wrong_type)?)?);
        }
        Ok(commits)
    }
}

/// Result of comparing a walk with the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meeting {
    /// From this position on they are equal.
    At(Position),
    /// Not yet.
    NotHere,
    /// They differ in order, and would meet only by chance.
    Nowhere,
}

/// Returns the first text after all that begin with the folder `prefix`.
fn end_of_prefix(prefix: &str) -> Option<String> {
    // The character after `/` is `0`.
    prefix.strip_suffix('/').map(|folder| format!("{folder}0"))
}

fn entry(row: &Row<'_>, prefix: &str) -> Result<LogEntry, CacheError> {
    let commit = object_id(row.get_ref(0)?.as_blob().map_err(wrong_type)?)?;
    let (seconds, nanoseconds) = (row.get(5)?, row.get(6)?);
    let mut paths = vec![row.get(2)?];
    if let Some(more) = row.get::<_, Option<String>>(10)? {
        paths.extend(serde_json::from_str::<Vec<String>>(&more).map_err(|_| CacheError::Content)?);
    }
    let record = Record {
        operation: row.get(1)?,
        paths,
        tool: row.get(3)?,
        client: row.get(4)?,
        time: DateTime::from_timestamp(seconds, nanoseconds).ok_or(CacheError::Content)?,
        summary: row.get(7)?,
        key: row.get(8)?,
        request: row.get(9)?,
        // The cache keeps the execution alone of a call.
        call: row.get::<_, Option<String>>(11)?.map(|execution| RecordedCall { execution, session: None }),
        caller: row.get(12)?,
        tool_details: None,
    };
    LogEntry::from_record(commit, record, prefix).ok_or(CacheError::Content)
}

fn object_id(bytes: &[u8]) -> Result<ObjectId, CacheError> {
    ObjectId::try_from(bytes).map_err(|_| CacheError::Content)
}

fn wrong_type(_: rusqlite::types::FromSqlError) -> CacheError {
    CacheError::Content
}
