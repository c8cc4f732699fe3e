//! How what the system, git's files and paths say becomes a [`Failure`]: what, where, and what to do about it.

use std::{error::Error, io, path::Path};

use tabellion_runtime::{Failure, FailureKind};

use super::root::FileError;
use crate::path::PathError;

/// Says of an I/O error what was being done to which path.
pub(super) trait At<T> {
    /// The same result, its error a [`Failure`] that names `path`. `doing` completes "can't …".
    fn at(self, doing: &str, path: impl AsRef<Path>) -> Result<T, Failure>;
}

impl<T> At<T> for io::Result<T> {
    fn at(self, doing: &str, path: impl AsRef<Path>) -> Result<T, Failure> {
        self.map_err(|error| {
            let message = format!(
                "can't {doing} `{}`: {error}{}",
                path.as_ref().display(),
                advice(&error)
            );
            Failure::new(FailureKind::Io, message).with_source(error)
        })
    }
}

/// Says of an error of git's own files what could not be had.
pub(super) trait InRepository<T> {
    /// The same result, its error a [`Failure`]. `what` is what could not be read.
    fn reading(self, what: &str) -> Result<T, Failure>;
}

impl<T, E: Error + Send + Sync + 'static> InRepository<T> for Result<T, E> {
    fn reading(self, what: &str) -> Result<T, Failure> {
        self.map_err(|error| {
            let message = format!("can't read {what} from the repository: {error}; `git fsck` says more");
            Failure::new(FailureKind::Io, message).with_source(error)
        })
    }
}

/// A failure because of the state that something is in.
pub(super) fn refused(message: impl Into<String>) -> Failure {
    Failure::new(FailureKind::Refused, message)
}

/// A path that the library does not take.
pub(super) fn invalid_path(error: &PathError) -> Failure {
    Failure::new(FailureKind::Invalid, error.to_string()).with("rule", error.rule())
}

/// A file that can't be had although something is there.
pub(super) fn unreadable(error: &FileError) -> Failure {
    let kind = match error {
        FileError::Symlink { .. } | FileError::NotRegular { .. } => FailureKind::Refused,
        FileError::TooLarge { .. } => FailureKind::TooLarge,
        FileError::Denied { .. } | FileError::Io { .. } => FailureKind::Io,
    };
    Failure::new(kind, error.to_string()).with("rule", error.rule())
}

fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "; free some space and try again",
        io::ErrorKind::PermissionDenied => "; give the server's user the right to write there",
        io::ErrorKind::ReadOnlyFilesystem => "; mount it writable and try again",
        io::ErrorKind::FileTooLarge => {
            "; write less, or start the server with a higher limit on file sizes (`ulimit -f`)"
        }
        _ => system_advice(error),
    }
}

/// Advice on what the standard library has no name for.
#[cfg(unix)]
fn system_advice(error: &io::Error) -> &'static str {
    use rustix::io::Errno;
    match Errno::from_io_error(error) {
        Some(Errno::MFILE | Errno::NFILE) => {
            "; start the server with a higher limit on open files (`ulimit -n`)"
        }
        Some(Errno::IO) => "; the disk may be failing: save what is on it, and check it",
        _ => "",
    }
}

#[cfg(not(unix))]
fn system_advice(_: &io::Error) -> &'static str {
    ""
}
