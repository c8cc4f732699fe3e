//! The index file: created, opened, emptied, and made anew if it is damaged or of a different make.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use rusqlite::{Connection, OpenFlags, config::DbConfig, params};
use tabellion_platform::{create_own, lock_file};

use crate::IndexError;

/// SQLite application id of an index file.
const APPLICATION: i32 = i32::from_be_bytes(*b"Tbli");
/// Version of the tables, and of how texts become words: an index of a different version is built anew.
const FORMAT: i32 = 3;
/// How long a writer waits for a writer in a different process.
const BUSY_TIMEOUT: Duration = Duration::from_secs(30);
/// Number of prepared statements that a connection keeps.
const STATEMENT_CAPACITY: usize = 64;
/// Bytes to which the write-ahead log is cut after a large transaction.
const MAX_IDLE_LOG: i64 = 16 << 20;

const CREATE: &str = "
    CREATE TABLE state (
        generation INTEGER NOT NULL, cleared INTEGER NOT NULL, at INTEGER NOT NULL, mark TEXT, recipe TEXT NOT NULL
    ) STRICT;
    CREATE TABLE document (number INTEGER PRIMARY KEY, id TEXT UNIQUE, seq INTEGER NOT NULL, terms BLOB NOT NULL) STRICT;
    CREATE TABLE grp (number INTEGER PRIMARY KEY, key TEXT UNIQUE) STRICT;
    CREATE TABLE member (
        grp INTEGER NOT NULL, time INTEGER NOT NULL, seq INTEGER NOT NULL, number INTEGER NOT NULL,
        PRIMARY KEY (grp, time, seq, number)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE posting (
        term BLOB NOT NULL, first INTEGER NOT NULL, entries BLOB NOT NULL, PRIMARY KEY (term, first)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE record (block INTEGER PRIMARY KEY, generation INTEGER NOT NULL, entries BLOB NOT NULL) STRICT;
    CREATE INDEX record_generation ON record (generation);";

/// What the index has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct State {
    /// Increases with each transaction, also over files that replace one another.
    pub(crate) generation: i64,
    /// The generation in which all documents were removed; what was read before is void.
    pub(crate) cleared: i64,
    /// The change of the source up to which the index has everything.
    pub(crate) at: i64,
    /// The source's mark of that change.
    pub(crate) mark: Option<String>,
}

impl State {
    pub(crate) fn read(connection: &Connection) -> Result<Self, IndexError> {
        let sql = "SELECT generation, cleared, at, mark FROM state";
        let state = connection.prepare_cached(sql)?.query_row([], |row| {
            Ok(Self {
                generation: row.get(0)?,
                cleared: row.get(1)?,
                at: row.get(2)?,
                mark: row.get(3)?,
            })
        })?;
        Ok(state)
    }

    pub(crate) fn write(&self, connection: &Connection) -> Result<(), IndexError> {
        let sql = "UPDATE state SET generation = ?, cleared = ?, at = ?, mark = ?";
        let row = params![self.generation, self.cleared, self.at, self.mark];
        connection.prepare_cached(sql)?.execute(row)?;
        Ok(())
    }
}

/// Opens the index at `path`, or makes an empty one if there is none that `recipe` made.
pub(crate) fn open(path: &Path, recipe: &str) -> Result<Connection, IndexError> {
    // Processes that start at the same time set the file up one after another.
    let lock = path.with_extension("lock");
    create_own(&lock).map_err(IndexError::at(&lock))?;
    let _held = lock_file(&lock).map_err(IndexError::at(&lock))?;
    create_own(path).map_err(IndexError::at(path))?;
    match existing(path, recipe) {
        Ok(connection) => Ok(connection),
        Err(error) if error.is_damage() => anew(path, recipe),
        Err(error) => Err(error),
    }
}

/// Replaces a damaged index by an empty one, unless another process has emptied it since `cleared` was read from it.
pub(crate) fn repair(path: &Path, recipe: &str, cleared: i64) -> Result<Connection, IndexError> {
    let lock = path.with_extension("lock");
    let _held = lock_file(&lock).map_err(IndexError::at(&lock))?;
    create_own(path).map_err(IndexError::at(path))?;
    match existing(path, recipe) {
        Ok(connection) if State::read(&connection)?.cleared != cleared => Ok(connection),
        _ => anew(path, recipe),
    }
}

/// Opens a connection to an index that is set up.
pub(crate) fn connect(path: &Path) -> Result<Connection, IndexError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(STATEMENT_CAPACITY);
    // What a power failure takes from the end of the log is taken from the source again.
    connection.execute_batch(&format!(
        "PRAGMA synchronous = NORMAL; PRAGMA trusted_schema = OFF; PRAGMA temp_store = MEMORY;
         PRAGMA journal_size_limit = {MAX_IDLE_LOG}"
    ))?;
    Ok(connection)
}

/// Opens the file if it is an index of this format and recipe.
pub(crate) fn existing(path: &Path, recipe: &str) -> Result<Connection, IndexError> {
    let connection = connect(path)?;
    let number = |pragma: &str| -> Result<i32, IndexError> {
        Ok(connection.query_row(&format!("PRAGMA {pragma}"), [], |row| row.get(0))?)
    };
    if number("application_id")? != APPLICATION || number("user_version")? != FORMAT {
        return Err(IndexError::damaged("it is not of this version"));
    }
    let found: String = connection.query_row("SELECT recipe FROM state", [], |row| row.get(0))?;
    if found != recipe {
        return Err(IndexError::damaged("its documents were made in a different way"));
    }
    State::read(&connection)?;
    Ok(connection)
}

/// Makes an empty index in place of what is there.
fn anew(path: &Path, recipe: &str) -> Result<Connection, IndexError> {
    // In place, so that other processes which have the file open see it; a file too damaged for that is removed.
    if reset(path).is_err() {
        for suffix in ["", "-wal", "-shm"] {
            let mut name = path.as_os_str().to_owned();
            name.push(suffix);
            let file = PathBuf::from(name);
            match fs::remove_file(&file) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(IndexError::at(&file)(error));
                }
                _ => {}
            }
        }
        create_own(path).map_err(IndexError::at(path))?;
    }
    let connection = connect(path)?;
    connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    in_transaction(&connection, || {
        connection.execute_batch(CREATE)?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let generation = i64::try_from(now.as_nanos()).unwrap_or(i64::MAX / 2);
        let sql = "INSERT INTO state (generation, cleared, at, mark, recipe) VALUES (?1, ?1, 0, NULL, ?2)";
        connection.execute(sql, params![generation, recipe])?;
        connection.execute_batch(&format!(
            "PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {FORMAT}"
        ))?;
        Ok(())
    })?;
    Ok(connection)
}

/// Empties a database of any content, also a damaged one.
fn reset(path: &Path) -> Result<(), IndexError> {
    let connection = connect(path)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_RESET_DATABASE, true)?;
    let emptied = connection.execute_batch("VACUUM");
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_RESET_DATABASE, false)?;
    emptied?;
    Ok(())
}

/// Removes all documents, within a transaction.
pub(crate) fn clear(connection: &Connection, state: &mut State) -> Result<(), IndexError> {
    for table in ["document", "grp", "member", "posting", "record"] {
        connection.execute_batch(&format!("DELETE FROM {table}"))?;
    }
    (state.cleared, state.at, state.mark) = (state.generation, 0, None);
    Ok(())
}

/// Does `work` in a transaction, which is undone if it fails.
pub(crate) fn in_transaction<T>(
    connection: &Connection,
    work: impl FnOnce() -> Result<T, IndexError>,
) -> Result<T, IndexError> {
    connection.execute_batch("BEGIN IMMEDIATE")?;
    let outcome = work().and_then(|outcome| {
        connection.execute_batch("COMMIT")?;
        Ok(outcome)
    });
    if outcome.is_err() && !connection.is_autocommit() {
        // The error says more than that of undoing.
        let _ = connection.execute_batch("ROLLBACK");
    }
    outcome
}
