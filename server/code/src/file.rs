//! The SQLite file: made, opened, and made anew if it is damaged or of a different version.

use std::{fs, io, path::Path, time::Duration};

use rusqlite::{Connection, OpenFlags};
use tabellion_platform::{create_own, lock_file};

use crate::CodeError;

/// SQLite application id of an index of code.
const APPLICATION: i32 = i32::from_be_bytes(*b"Tblc");
/// Version of the tables, of chunks and of terms: an index of a different version is emptied.
const FORMAT: i32 = 10;
/// How long a writer waits for another, until it looks whether it is still to write.
pub(crate) const BUSY_TIMEOUT: Duration = Duration::from_secs(1);
/// Bytes to which the write-ahead log is cut after a large transaction.
const MAX_IDLE_LOG: i64 = 16 << 20;

const CREATE: &str = "
    CREATE TABLE collection (
        number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, generation INTEGER NOT NULL, operation TEXT NOT NULL,
        state TEXT NOT NULL, total INTEGER NOT NULL, done INTEGER NOT NULL, failed INTEGER NOT NULL, left_out INTEGER NOT NULL,
        started_at INTEGER NOT NULL, finished_at INTEGER, error TEXT, deaths INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE failure (
        number INTEGER PRIMARY KEY, collection INTEGER NOT NULL, branch TEXT NOT NULL, path TEXT NOT NULL, reason TEXT NOT NULL
    ) STRICT;
    CREATE INDEX failure_collection ON failure (collection);
    CREATE TABLE segment (
        number INTEGER PRIMARY KEY, collection INTEGER NOT NULL, chunks INTEGER NOT NULL, words BLOB NOT NULL,
        buckets INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX segment_collection ON segment (collection);
    CREATE TABLE bucket (number INTEGER PRIMARY KEY, words BLOB NOT NULL) STRICT;
    CREATE TABLE file (
        number INTEGER PRIMARY KEY, collection INTEGER NOT NULL, branch TEXT NOT NULL, path TEXT NOT NULL,
        segment INTEGER NOT NULL, first INTEGER NOT NULL, lengths BLOB NOT NULL, texts BLOB NOT NULL, blob BLOB NOT NULL, bytes INTEGER NOT NULL,
        UNIQUE (collection, branch, path)
    ) STRICT;
    CREATE INDEX file_segment ON file (segment);
    CREATE TABLE content (file INTEGER PRIMARY KEY, chunks TEXT NOT NULL, text TEXT NOT NULL) STRICT;";

/// Opens the index, or makes an empty one where there is none of this version.
pub(crate) fn open(path: &Path) -> Result<Connection, CodeError> {
    // Processes that start at the same time set the file up one after another.
    let lock = path.with_extension("lock");
    create_own(&lock).map_err(CodeError::at(&lock))?;
    let _held = lock_file(&lock).map_err(CodeError::at(&lock))?;
    create_own(path).map_err(CodeError::at(path))?;
    match existing(path) {
        Ok(Some(connection)) => Ok(connection),
        Ok(None) => anew(path),
        Err(error) if error.is_damage() => anew(path),
        Err(error) => Err(error),
    }
}

/// Opens one more connection.
pub(crate) fn connect(path: &Path) -> Result<Connection, CodeError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(64);
    // What a power failure takes from the end of the log is indexed again: the hash of a file is committed with its chunks.
    // A search of many segments reads thousands of pages. One that is mapped takes little more of the cache's memory than its header.
    connection.execute_batch(&format!(
        "PRAGMA synchronous = NORMAL; PRAGMA trusted_schema = OFF; PRAGMA temp_store = MEMORY;
         PRAGMA cache_size = -32768; PRAGMA mmap_size = 1073741824; PRAGMA journal_size_limit = {MAX_IDLE_LOG}"
    ))?;
    Ok(connection)
}

/// Opens the file if it is an index of this version.
fn existing(path: &Path) -> Result<Option<Connection>, CodeError> {
    let connection = connect(path)?;
    let number = |pragma: &str| -> Result<i32, CodeError> {
        Ok(connection.query_row(&format!("PRAGMA {pragma}"), [], |row| row.get(0))?)
    };
    if number("application_id")? != APPLICATION || number("user_version")? != FORMAT {
        return Ok(None);
    }
    connection.query_row("SELECT count(*) FROM collection", [], |row| row.get::<_, i64>(0))?;
    Ok(Some(connection))
}

/// Makes an empty index in place of what is there. The lock is held.
fn anew(path: &Path) -> Result<Connection, CodeError> {
    for suffix in ["", "-wal", "-shm"] {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        match fs::remove_file(&name) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(CodeError::at(name)(error)),
            _ => {}
        }
    }
    create_own(path).map_err(CodeError::at(path))?;
    let mut connection = connect(path)?;
    connection.execute_batch("PRAGMA page_size = 8192; PRAGMA journal_mode = WAL")?;
    let transaction = connection.transaction()?;
    transaction.execute_batch(CREATE)?;
    transaction.execute_batch(&format!(
        "PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {FORMAT}"
    ))?;
    transaction.commit()?;
    Ok(connection)
}
