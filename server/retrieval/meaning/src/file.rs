//! The SQLite file: made, opened, and made anew if it is damaged, of a different version, or of a different model.

use std::{
    fs, io,
    path::Path,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use rusqlite::{Connection, OpenFlags, config::DbConfig, params};
use tabellion_platform::{create_own, lock_file};

use crate::MeaningError;

/// SQLite application id of a file of vectors.
const APPLICATION: i32 = i32::from_be_bytes(*b"Tblv");
/// Version of the tables: a file of a different version is emptied.
const FORMAT: i32 = 2;
/// How long a writer waits for a writer in a different process.
const BUSY_TIMEOUT: Duration = Duration::from_secs(30);
/// Bytes to which the write-ahead log is cut after a large transaction.
const MAX_IDLE_LOG: i64 = 16 << 20;

// Numbers are never used again, so that those who have read up to one find what was added since. The parts of a text follow one another.
const CREATE: &str = "
    CREATE TABLE state (fingerprint TEXT NOT NULL, generation INTEGER NOT NULL) STRICT;
    CREATE TABLE vector (
        number INTEGER PRIMARY KEY AUTOINCREMENT, key BLOB NOT NULL, part INTEGER NOT NULL, bytes BLOB NOT NULL,
        UNIQUE (key, part)
    ) STRICT;";

/// Opens the vectors of the model with this fingerprint, or makes an empty file where there are none.
pub(crate) fn open(path: &Path, fingerprint: &str) -> Result<Connection, MeaningError> {
    // Processes that start at the same time set the file up one after another.
    let lock = path.with_extension("lock");
    create_own(&lock).map_err(MeaningError::at(&lock))?;
    let _held = lock_file(&lock).map_err(MeaningError::at(&lock))?;
    create_own(path).map_err(MeaningError::at(path))?;
    match existing(path, fingerprint) {
        Ok(Some(connection)) => Ok(connection),
        Ok(None) => anew(path, fingerprint),
        Err(error) if error.is_damage() => anew(path, fingerprint),
        Err(error) => Err(error),
    }
}

/// Replaces a damaged file by an empty one, unless another process has done so.
pub(crate) fn repair(path: &Path, fingerprint: &str) -> Result<Connection, MeaningError> {
    let lock = path.with_extension("lock");
    let _held = lock_file(&lock).map_err(MeaningError::at(&lock))?;
    if let Ok(Some(connection)) = existing(path, fingerprint) {
        let sound = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0));
        if sound.is_ok_and(|found| found == "ok") {
            return Ok(connection);
        }
    }
    anew(path, fingerprint)
}

fn connect(path: &Path) -> Result<Connection, MeaningError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    // What a power failure takes from the end of the log is embedded again.
    connection.execute_batch(&format!(
        "PRAGMA synchronous = NORMAL; PRAGMA trusted_schema = OFF; PRAGMA journal_size_limit = {MAX_IDLE_LOG}"
    ))?;
    Ok(connection)
}

/// Opens the file if it is of this version and model.
fn existing(path: &Path, fingerprint: &str) -> Result<Option<Connection>, MeaningError> {
    let connection = connect(path)?;
    let number = |pragma: &str| -> Result<i32, MeaningError> {
        Ok(connection.query_row(&format!("PRAGMA {pragma}"), [], |row| row.get(0))?)
    };
    if number("application_id")? != APPLICATION || number("user_version")? != FORMAT {
        return Ok(None);
    }
    let found: String = connection.query_row("SELECT fingerprint FROM state", [], |row| row.get(0))?;
    Ok((found == fingerprint).then_some(connection))
}

/// Makes an empty file in place of what is there. The lock is held.
fn anew(path: &Path, fingerprint: &str) -> Result<Connection, MeaningError> {
    // In place, so that other processes which have the file open see it; a file too damaged for that is removed.
    if reset(path).is_err() {
        for suffix in ["", "-wal", "-shm"] {
            let mut name = path.as_os_str().to_owned();
            name.push(suffix);
            match fs::remove_file(&name) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(MeaningError::at(name)(error));
                }
                _ => {}
            }
        }
        create_own(path).map_err(MeaningError::at(path))?;
    }
    let mut connection = connect(path)?;
    connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    let transaction = connection.transaction()?;
    transaction.execute_batch(CREATE)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let generation = i64::try_from(now.as_nanos()).unwrap_or(i64::MAX / 2);
    transaction.execute(
        "INSERT INTO state (fingerprint, generation) VALUES (?, ?)",
        params![fingerprint, generation],
    )?;
    transaction.execute_batch(&format!(
        "PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {FORMAT}"
    ))?;
    transaction.commit()?;
    Ok(connection)
}

/// Empties a database of any content, also a damaged one.
fn reset(path: &Path) -> Result<(), MeaningError> {
    let connection = connect(path)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_RESET_DATABASE, true)?;
    let emptied = connection.execute_batch("VACUUM");
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_RESET_DATABASE, false)?;
    Ok(emptied?)
}
