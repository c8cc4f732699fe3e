//! Converts errors of SQLite and the system to failures that name the remedy.

use std::{io, path::Path};

use rusqlite::{Error, ErrorCode};
use tabellion_runtime::{Failure, FailureKind};
use tabellion_sqlite::{is_busy, is_damage};

/// Adds the attempted action to an error of SQLite.
pub(crate) trait Doing<T> {
    /// Returns the failure; `what` is a verb and its object.
    fn doing(self, what: &str) -> Result<T, Failure>;
}

impl<T> Doing<T> for Result<T, Error> {
    fn doing(self, what: &str) -> Result<T, Failure> {
        self.map_err(|error| failure(what, error))
    }
}

fn failure(what: &str, error: Error) -> Failure {
    let (kind, message) = match error.sqlite_error_code() {
        _ if is_busy(&error) => {
            return Failure::busy("another process is changing the data; try again").with_source(error);
        }
        Some(ErrorCode::ConstraintViolation) => {
            (FailureKind::Conflict, "the change breaks a rule of its table; nothing has changed".to_owned())
        }
        Some(ErrorCode::TooBig) => (FailureKind::TooLarge, "a value is too large to be kept".to_owned()),
        _ if is_damage(&error) => (
            FailureKind::Io,
            format!(
                "can't {what}: the data file is damaged; stop the server, then run `tabellion data recover --data DIR`, which makes the tables \
                 anew from the log, or put a backup in its place"
            ),
        ),
        Some(ErrorCode::DiskFull) => {
            (FailureKind::Io, format!("can't {what}: the disk is full; free some space; nothing has changed"))
        }
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => (
            FailureKind::Io,
            format!(
                "can't {what}: the data folder can't be written; give the server's user permission to, or mount it writable"
            ),
        ),
        // Other errors quote the statement.
        _ if !matches!(error, Error::SqliteFailure(..)) => (
            FailureKind::Io,
            format!(
                "can't {what}: the data file does not have what it should; `tabellion data check` says more"
            ),
        ),
        // The message contains SQLite's words.
        _ => return Failure::internal(format!("can't {what}: {error}")),
    };
    let rule = (kind == FailureKind::Conflict).then_some("constraint");
    let failure = Failure::new(kind, message).with_source(error);
    match rule {
        Some(rule) => failure.with("rule", rule),
        None => failure,
    }
}

/// Returns the failure of an access to a file.
pub(crate) fn io_failure<'p>(what: &'p str, path: &'p Path) -> impl FnOnce(io::Error) -> Failure + 'p {
    move |error| Failure::internal(format!("can't {what} `{}`: {error}", path.display()))
}

/// Returns the failure of data that must not be used or changed.
pub(crate) fn refused(message: impl Into<String>) -> Failure {
    Failure::new(FailureKind::Refused, message)
}

/// Returns the failure of data that this program can't have written.
pub(crate) fn damaged(what: impl std::fmt::Display) -> Failure {
    Failure::internal(format!(
        "the data is damaged: {what}; `tabellion data recover --data DIR` makes the tables anew from the log"
    ))
}

#[cfg(test)]
mod tests {
    use rusqlite::ffi;

    use super::*;

    /// Messages for clients are limited to problems that they can solve, and never quote SQLite or the system.
    #[test]
    fn the_words_of_the_store_are_for_the_operator() {
        let sqlite = |code| failure("write a change", Error::SqliteFailure(ffi::Error::new(code), None));
        let missing = io::Error::from(io::ErrorKind::NotFound);
        let busy = sqlite(ffi::SQLITE_BUSY);
        assert_eq!((busy.kind, &busy.data["rule"]), (FailureKind::Busy, &"busy".into()));
        for (failure, told, shown) in [
            (sqlite(ffi::SQLITE_FULL), "free some space", "free some space"),
            (sqlite(ffi::SQLITE_READONLY), "mount it writable", "mount it writable"),
            (sqlite(ffi::SQLITE_CORRUPT), "tabellion data recover", "tabellion data recover"),
            (sqlite(ffi::SQLITE_IOERR_SHORT_READ), "tabellion data recover", "is damaged"),
            (sqlite(ffi::SQLITE_IOERR_FSYNC), "internal error", "disk I/O error"),
            (sqlite(ffi::SQLITE_NOMEM), "internal error", "out of memory"),
            (io_failure("read", Path::new("/srv/x"))(missing), "internal error", "`/srv/x`"),
            (damaged("entry 7"), "internal error", "entry 7"),
        ] {
            assert!(failure.message.contains(told), "{}", failure.message);
            assert!(failure.to_string().contains(shown), "{failure}");
            assert!(told != "internal error" || failure.message == told, "{}", failure.message);
        }
    }
}
