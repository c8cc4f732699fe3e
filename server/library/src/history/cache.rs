//! What is kept of a history on the disk, for reading.
//!
//! The file `log.sqlite` in our own folder holds the walk from one commit whole, or nothing. Whoever reads follows HEAD's
//! ancestors until there is only one left to go on from that is in there `alone`: from there on, file and walk are the
//! same, whatever has happened to the branch. So the file is never wrong, only of more or less use. It may be deleted at
//! any time.
//!
//! Nobody waits for it: a lock that another process holds is an error like a full disk, and readers go on without.

use std::{path::Path, time::Duration};

use chrono::DateTime;
use gix::ObjectId;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, Row, config::DbConfig, params};

use super::{super::commit_message::Record, LogEntry};

/// Says that a database is ours, whatever its name.
pub(super) const APPLICATION: i32 = i32::from_be_bytes(*b"Tbll");
/// Changes with the schema, and with what its rows mean.
pub(super) const VERSION: i32 = 2;
/// Kibibytes of the file that a reader keeps in memory.
const READERS_PAGES: i32 = -512;

/// Why the cache is of no use just now.
#[derive(Debug, thiserror::Error)]
pub(super) enum CacheError {
    /// SQLite says why.
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    /// The file is another program's, another version's, or damaged.
    #[error("the file does not hold what it should")]
    Content,
}

/// A commit's place in the walk that is kept.
pub(super) type Place = i64;

/// An open cache.
#[derive(Debug)]
pub(super) struct Cache {
    pub(super) database: Connection,
}

/// What the cache says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct State {
    /// The commit that the walk begins at.
    pub(super) head: ObjectId,
    /// What the commits before this place changed is known.
    pub(super) changes_before: Place,
}

impl Cache {
    /// The cache in `file`, for reading. With `check`, all of it is looked at: who wrote it is not known.
    pub(super) fn open(file: &Path, check: bool) -> Result<Self, CacheError> {
        // A reader of a database in WAL mode writes to its shared memory.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let cache = Self::connect(file, flags)?;
        cache.database.pragma_update(None, "cache_size", READERS_PAGES)?;
        if !cache.is_ours()? || cache.state()?.is_none() {
            return Err(CacheError::Content);
        }
        if check {
            cache.check()?;
        }
        Ok(cache)
    }

    pub(super) fn connect(file: &Path, flags: OpenFlags) -> Result<Self, CacheError> {
        let database = Connection::open_with_flags(file, flags)?;
        database.busy_timeout(Duration::ZERO)?;
        // Nobody should wait at the end for what can be done at any time.
        database.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        Ok(Self { database })
    }

    /// Whether the file says that it is ours and of this version.
    pub(super) fn is_ours(&self) -> Result<bool, CacheError> {
        let pragma = |name| {
            self.database
                .pragma_query_value(None, name, |row| row.get::<_, i32>(0))
        };
        Ok(pragma("application_id")? == APPLICATION && pragma("user_version")? == VERSION)
    }

    /// Another version may have taken the file over since it was opened.
    fn check_version(&self) -> Result<(), CacheError> {
        let mut query = self.database.prepare_cached("PRAGMA user_version")?;
        let version: i32 = query.query_row([], |row| row.get(0))?;
        if version == VERSION {
            Ok(())
        } else {
            Err(CacheError::Content)
        }
    }

    /// Finds damage.
    pub(super) fn check(&self) -> Result<(), CacheError> {
        let verdict: String = self
            .database
            .query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
        if verdict == "ok" {
            Ok(())
        } else {
            Err(CacheError::Content)
        }
    }

    /// Runs `read` on the cache as it is now, whatever others write meanwhile.
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

    /// What is kept; `None` when nothing is yet.
    pub(super) fn state(&self) -> Result<Option<State>, CacheError> {
        let mut query = self
            .database
            .prepare_cached("SELECT head, changes_before FROM state")?;
        let state = query
            .query_row([], |row| Ok((row.get::<_, Vec<u8>>(0)?, row.get(1)?)))
            .optional()?;
        state
            .map(|(head, changes_before)| {
                Ok(State {
                    head: object_id(&head)?,
                    changes_before,
                })
            })
            .transpose()
    }

    /// Where a commit is, and whether it is alone there.
    pub(super) fn find(&self, commit: ObjectId) -> Result<Option<(Place, bool)>, CacheError> {
        let mut query = self
            .database
            .prepare_cached("SELECT place, alone FROM walk WHERE id = ?")?;
        Ok(query
            .query_row([commit.as_slice()], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?)
    }

    /// The place from which on the walk that is kept is that from `commit`, if it is.
    pub(super) fn alone(&self, commit: ObjectId) -> Result<Option<Place>, CacheError> {
        let found = self.find(commit)?;
        Ok(found.filter(|(_, alone)| *alone).map(|(place, _)| place))
    }

    /// The place from which on a walk that came by `visited`, and has only `next` to go on from, is the one that is kept.
    ///
    /// Where clocks were wrong, `visited` may have ancestors of `next`, which then don't come again.
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

    /// The first `limit` entries from `place` on of the library at `prefix`, newest first.
    pub(super) fn entries(
        &self,
        place: Place,
        prefix: &str,
        limit: usize,
    ) -> Result<Vec<LogEntry>, CacheError> {
        let mut query = self.database.prepare_cached(
            "SELECT id, operation, path, tool, client, seconds, nanoseconds, summary, key, request, more
             FROM entry JOIN walk USING (place)
             WHERE place >= ?1 AND path >= ?2 AND (?3 IS NULL OR path < ?3) ORDER BY place LIMIT ?4",
        )?;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let mut rows = query.query(params![place, prefix, behind(prefix), limit])?;
        let mut entries = Vec::new();
        while let Some(row) = rows.next()? {
            entries.push(entry(row, prefix)?);
        }
        Ok(entries)
    }

    /// The newest entry from `place` on of the library at `prefix` that has this idempotency key.
    pub(super) fn entry_with_key(
        &self,
        place: Place,
        prefix: &str,
        key: &str,
    ) -> Result<Option<LogEntry>, CacheError> {
        let mut query = self.database.prepare_cached(
            "SELECT id, operation, path, tool, client, seconds, nanoseconds, summary, key, request, more
             FROM entry JOIN walk USING (place)
             WHERE key = ?4 AND place >= ?1 AND path >= ?2 AND (?3 IS NULL OR path < ?3) ORDER BY place LIMIT 1",
        )?;
        let mut rows = query.query(params![place, prefix, behind(prefix), key])?;
        rows.next()?.map(|row| entry(row, prefix)).transpose()
    }

    /// The newest commit from `place` on that changed the file that git calls `path`, of those of which that is known.
    pub(super) fn last_change(&self, place: Place, path: &str) -> Result<Option<ObjectId>, CacheError> {
        let mut query = self.database.prepare_cached(
            "SELECT id FROM walk WHERE place = (SELECT min(place) FROM change
             WHERE path = (SELECT number FROM path WHERE name = ?2) AND place >= ?1)",
        )?;
        let commit: Option<Vec<u8>> = query
            .query_row(params![place, path], |row| row.get(0))
            .optional()?;
        commit.map(|id| object_id(&id)).transpose()
    }

    /// At most `limit` commits from `place` on.
    pub(super) fn commits(&self, place: Place, limit: i64) -> Result<Vec<ObjectId>, CacheError> {
        let mut query = self
            .database
            .prepare_cached("SELECT id FROM walk WHERE place >= ?1 ORDER BY place LIMIT ?2")?;
        let mut rows = query.query(params![place, limit])?;
        let mut commits = Vec::new();
        while let Some(row) = rows.next()? {
            commits.push(object_id(row.get_ref(0)?.as_blob().map_err(wrong_type)?)?);
        }
        Ok(commits)
    }
}

/// Whether a walk and the cache have come together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meeting {
    /// From this place on they are the same.
    At(Place),
    /// Not yet.
    NotHere,
    /// They differ in order, and would come together only by chance.
    Nowhere,
}

/// The first text behind all that begin with the folder `prefix`.
fn behind(prefix: &str) -> Option<String> {
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
        noted: None,
    };
    LogEntry::of(commit, record, prefix).ok_or(CacheError::Content)
}

fn object_id(bytes: &[u8]) -> Result<ObjectId, CacheError> {
    ObjectId::try_from(bytes).map_err(|_| CacheError::Content)
}

fn wrong_type(_: rusqlite::types::FromSqlError) -> CacheError {
    CacheError::Content
}
