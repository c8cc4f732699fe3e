//! Errors that mean that a file is damaged.

use std::io;

use rusqlite::{Connection, Error, ErrorCode, ffi::SQLITE_IOERR_SHORT_READ};

/// Returns true if the bytes of the file, or of its write-ahead log, are not those that SQLite wrote.
///
/// Disk errors are not damage: a file that can't be read now may be intact. A short read is, since SQLite reports it only where the
/// write-ahead log was cut while it was in use. `SQLITE_ERROR` concerns a statement, not the file: one with too many variables
/// causes it too.
pub fn is_damage(error: &Error) -> bool {
    error.sqlite_error().is_some_and(|error| {
        matches!(error.code, ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
            || error.extended_code == SQLITE_IOERR_SHORT_READ
    })
}

/// Returns true if another connection holds a lock that is needed.
pub fn is_busy(error: &Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// Returns true if there is no room for the change.
pub fn is_full(error: &Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DiskFull)
}

/// Returns the reason and the remedy, for clients, of an error that comes from a place that can't be written.
pub fn unwritable(error: &dyn std::error::Error) -> Option<&'static str> {
    const FULL: &str = "the disk is full; free some space";
    const DENIED: &str =
        "the data folder can't be written; give the server's user permission to, or mount it writable";
    let source = error.source()?;
    if let Some(error) = source.downcast_ref::<Error>() {
        return match error.sqlite_error_code()? {
            ErrorCode::DiskFull => Some(FULL),
            ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied => Some(DENIED),
            _ => None,
        };
    }
    match source.downcast_ref::<io::Error>()?.kind() {
        io::ErrorKind::StorageFull => Some(FULL),
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => Some(DENIED),
        _ => None,
    }
}

/// Evidence of an error against a derived file, whose tables and rows have one author.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Damage {
    /// The file has bytes or rows that its author does not write.
    Proven,
    /// A statement failed, perhaps because a table is missing: the tables have to be compared.
    Suspected,
}

impl Damage {
    /// Returns the evidence that `error` provides against its derived file, if any.
    pub fn in_derived(error: &Error) -> Option<Self> {
        use Error::{
            FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType, QueryReturnedNoRows,
            SqlInputError,
        };
        match error.sqlite_error_code() {
            _ if is_damage(error) => Some(Self::Proven),
            Some(ErrorCode::ConstraintViolation) => Some(Self::Proven),
            Some(ErrorCode::Unknown) => Some(Self::Suspected),
            Some(_) => None,
            None => match error {
                SqlInputError { .. } => Some(Self::Suspected),
                QueryReturnedNoRows
                | InvalidColumnType(..)
                | FromSqlConversionFailure(..)
                | IntegralValueOutOfRange(..) => Some(Self::Proven),
                _ => None,
            },
        }
    }
}

/// Reads the whole file, and returns the first problem; `None` if it is sound.
///
/// # Errors
/// If it can't be read; [`is_damage`] returns true if that is a problem of the file too.
pub fn check(connection: &Connection) -> rusqlite::Result<Option<String>> {
    let verdict: String = connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
    Ok((verdict != "ok").then_some(verdict))
}
