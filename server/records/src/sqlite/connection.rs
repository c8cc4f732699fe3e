//! Connections to the data file, and the places around it.

use std::{
    fs::OpenOptions,
    io,
    path::{Path, PathBuf},
};

use rusqlite::{Connection, Transaction, TransactionBehavior, config::DbConfig};
use tabellion_platform as platform;
use tabellion_runtime::{Failure, FailureKind, spec::RowsSpec};
use tabellion_sqlite::ROWS;

use super::mark;
use crate::failures::{Doing, io_failure};

/// Returns the path of a contract's data file.
pub fn path(folder: &Path, spec: &RowsSpec) -> PathBuf {
    folder.join(format!("{}.db", spec.contract))
}

/// Returns the failure of a missing file: a loss, if changes were acknowledged.
pub(crate) fn missing(path: &Path) -> Failure {
    let message = format!("there is no data file `{}`", path.display());
    mark::check_gone(path).err().unwrap_or_else(|| Failure::new(FailureKind::NotFound, message))
}

/// Makes the content of a file, or the names in a folder, durable.
pub(crate) fn sync(path: &Path) -> Result<(), Failure> {
    platform::open_to_sync(path).and_then(|file| file.sync_all()).map_err(io_failure("write", path))
}

/// Opens a connection to the file, writable if permissions allow.
///
/// # Errors
/// If it can't be opened, or acknowledged changes are missing.
pub(crate) fn connect(path: &Path) -> Result<Connection, Failure> {
    let connection = connect_unchecked(path)?;
    mark::check(&connection, path)?;
    Ok(connection)
}

/// As [`connect`], without the check for missing changes.
pub(crate) fn connect_unchecked(path: &Path) -> Result<Connection, Failure> {
    let connection = match ROWS.connect(path) {
        // SQLite can't create its files next to the data file.
        Err(error) if is_denied(&error) && is_on_read_only_system(path) => ROWS.connect_unchanging(path),
        connected => connected,
    }
    .doing("open the data file")?;
    // Statements are prepared once: without this, each value that is compared with a column of a partial index prepares them anew.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).doing("open the data file")?;
    Ok(connection)
}

/// Sets whether closing the last connection to the file moves the write-ahead log into it.
pub(crate) fn moves_log_when_closed(connection: &Connection, moves: bool) -> Result<(), Failure> {
    connection
        .set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, !moves)
        .doing("open the data file")
        .map(drop)
}

fn is_denied(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{CannotOpen, ReadOnly};
    matches!(error.sqlite_error_code(), Some(CannotOpen | ReadOnly))
}

/// Returns true if the file exists and can't be written.
pub(crate) fn is_read_only(path: &Path) -> bool {
    let denied = |kind| matches!(kind, io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem);
    opened_to_write(path).is_some_and(denied)
}

fn is_on_read_only_system(path: &Path) -> bool {
    opened_to_write(path) == Some(io::ErrorKind::ReadOnlyFilesystem)
}

/// Returns the error of opening the file for writing, if it fails.
fn opened_to_write(path: &Path) -> Option<io::ErrorKind> {
    let opened = platform::open_to_write(path, OpenOptions::new().write(true));
    opened.err().map(|error| error.kind())
}

/// Runs `work` in a transaction, which is rolled back if it fails.
pub(crate) fn in_transaction<T>(
    connection: &Connection,
    work: impl FnOnce() -> Result<T, Failure>,
) -> Result<T, Failure> {
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate);
    let transaction = transaction.doing("begin a change")?;
    let outcome = work()?;
    transaction.commit().doing("write a change")?;
    Ok(outcome)
}
