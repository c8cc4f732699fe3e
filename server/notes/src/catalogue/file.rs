//! The SQLite file: made, opened, and emptied if it is damaged or of a different version.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use rusqlite::{Connection, OpenFlags, config::DbConfig};
use tabellion_platform::{create_folders, create_own, lock_file};

use crate::CatalogueError;

/// SQLite application id of a catalogue.
const APPLICATION: i32 = i32::from_be_bytes(*b"Tbln");
/// Version of the tables, of how notes are read and cut: a catalogue of a different version is filled anew.
const FORMAT: i32 = 3;
/// How long a writer waits for a writer in a different process.
const BUSY_TIMEOUT: Duration = Duration::from_secs(30);
/// Number of prepared statements that a connection keeps.
const STATEMENT_CAPACITY: usize = 64;
/// Bytes to which the write-ahead log is cut after a large transaction.
const MAX_IDLE_LOG: i64 = 16 << 20;

const CREATE: &str = "
    CREATE TABLE state (generation INTEGER NOT NULL, sequence INTEGER NOT NULL) STRICT;
    CREATE TABLE batch (last INTEGER PRIMARY KEY, mark INTEGER NOT NULL) STRICT;
    CREATE TABLE file (
        number INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, stat BLOB, hash BLOB NOT NULL, modified INTEGER NOT NULL,
        claimed BLOB, derived BLOB NOT NULL, id BLOB UNIQUE, is_alternate INTEGER NOT NULL DEFAULT 0,
        title TEXT NOT NULL, type TEXT, members TEXT NOT NULL, created INTEGER NOT NULL,
        chunks INTEGER NOT NULL, sequence INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX file_claimed ON file (claimed) WHERE claimed IS NOT NULL;
    CREATE INDEX file_derived ON file (derived);
    CREATE INDEX file_alternate ON file (number) WHERE is_alternate = 1;
    CREATE INDEX file_type ON file (type, created, id);
    CREATE INDEX file_created ON file (created, id);
    CREATE INDEX file_sequence ON file (sequence);
    CREATE TABLE content (file INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT;
    CREATE TABLE tag (
        tag TEXT NOT NULL, file INTEGER NOT NULL, PRIMARY KEY (tag, file)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX tag_file ON tag (file);
    CREATE TABLE tagged (
        key TEXT NOT NULL, file INTEGER NOT NULL, PRIMARY KEY (key, file)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX tagged_file ON tagged (file);
    CREATE TABLE link (
        target BLOB NOT NULL, file INTEGER NOT NULL, place INTEGER NOT NULL, PRIMARY KEY (target, file, place)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX link_file ON link (file);
    CREATE TABLE gone (key TEXT PRIMARY KEY, sequence INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    CREATE INDEX gone_sequence ON gone (sequence);";

/// Opens the catalogue, or makes an empty one where there is none of this version.
pub(crate) fn open(path: &Path) -> Result<Connection, CatalogueError> {
    // Processes that start at the same time set the file up one after another.
    let lock = path.with_extension("lock");
    if let Some(folder) = path.parent() {
        create_folders(folder, 2).map_err(CatalogueError::at(folder))?;
    }
    create_own(&lock).map_err(CatalogueError::at(&lock))?;
    let _held = lock_file(&lock).map_err(CatalogueError::at(&lock))?;
    create_own(path).map_err(CatalogueError::at(path))?;
    match existing(path) {
        Err(error) if error.is_damage() => anew(path),
        outcome => outcome,
    }
}

/// Empties a damaged catalogue, unless another process has made it anew since its generation was `seen`.
pub(crate) fn repair(path: &Path, seen: i64) -> Result<Connection, CatalogueError> {
    let lock = path.with_extension("lock");
    let _held = lock_file(&lock).map_err(CatalogueError::at(&lock))?;
    create_own(path).map_err(CatalogueError::at(path))?;
    match existing(path) {
        // Generations of a new file are larger by far than one more.
        Ok(connection) if generation(&connection)? > seen.saturating_add(1_000_000) => Ok(connection),
        _ => anew(path),
    }
}

pub(crate) fn generation(connection: &Connection) -> Result<i64, CatalogueError> {
    Ok(connection.query_row("SELECT generation FROM state", [], |row| row.get(0))?)
}

/// Opens one more connection.
pub(crate) fn connect(path: &Path) -> Result<Connection, CatalogueError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(STATEMENT_CAPACITY);
    // What a power failure takes from the end of the log is read from the notes again.
    connection.execute_batch(&format!(
        "PRAGMA synchronous = NORMAL; PRAGMA trusted_schema = OFF; PRAGMA temp_store = MEMORY;
         PRAGMA journal_size_limit = {MAX_IDLE_LOG}"
    ))?;
    Ok(connection)
}

/// Opens the file if it is a catalogue of this version.
fn existing(path: &Path) -> Result<Connection, CatalogueError> {
    let connection = connect(path)?;
    let number = |pragma: &str| -> Result<i32, CatalogueError> {
        Ok(connection.query_row(&format!("PRAGMA {pragma}"), [], |row| row.get(0))?)
    };
    if number("application_id")? != APPLICATION || number("user_version")? != FORMAT {
        return Err(CatalogueError::Damaged("it is not of this version".into()));
    }
    generation(&connection)?;
    Ok(connection)
}

/// Makes an empty catalogue in place of what is there. The lock is held.
fn anew(path: &Path) -> Result<Connection, CatalogueError> {
    // In place, so that other processes which have the file open see it; a file too damaged for that is removed.
    if reset(path).is_err() {
        for suffix in ["", "-wal", "-shm"] {
            let mut name = path.as_os_str().to_owned();
            name.push(suffix);
            let file = PathBuf::from(name);
            match fs::remove_file(&file) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(CatalogueError::at(&file)(error));
                }
                _ => {}
            }
        }
        create_own(path).map_err(CatalogueError::at(path))?;
    }
    let mut connection = connect(path)?;
    connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    let transaction = connection.transaction()?;
    transaction.execute_batch(CREATE)?;
    transaction.execute("INSERT INTO state VALUES (?, 0)", [now_nanos()])?;
    transaction.execute_batch(&format!(
        "PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {FORMAT}"
    ))?;
    transaction.commit()?;
    Ok(connection)
}

/// Returns the nanoseconds since 1970.
pub(crate) fn now_nanos() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_nanos()).unwrap_or(i64::MAX / 2)
}

/// Empties a database of any content, also a damaged one.
fn reset(path: &Path) -> Result<(), CatalogueError> {
    let connection = connect(path)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_RESET_DATABASE, true)?;
    let emptied = connection.execute_batch("VACUUM");
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_RESET_DATABASE, false)?;
    Ok(emptied?)
}
