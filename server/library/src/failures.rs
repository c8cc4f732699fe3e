//! Converts errors of the system, of git's files and of paths to a [`Failure`]: the operation, the place, and advice.

use std::{error::Error, io, path::Path};

use tabellion_platform as platform;
use tabellion_runtime::{Failure, FailureKind, Violation};

use super::root::FileError;
use crate::path::{LibraryPath, PathError};

/// Adds the operation and path to an I/O error.
pub(super) trait IoContext<T> {
    /// Converts the error to a [`Failure`] that names `path`. `doing` completes "can't …".
    fn context(self, doing: &str, path: impl AsRef<Path>) -> Result<T, Failure>;
}

impl<T> IoContext<T> for io::Result<T> {
    fn context(self, doing: &str, path: impl AsRef<Path>) -> Result<T, Failure> {
        self.map_err(|error| {
            let message = format!("can't {doing} `{}`: {error}{}", path.as_ref().display(), advice(&error));
            let kind = if platform::is_held_open(&error) { FailureKind::Busy } else { FailureKind::Io };
            Failure::new(kind, message).with_source(error)
        })
    }
}

/// Adds context to an error of git's files.
pub(super) trait InRepository<T> {
    /// Converts the error to a [`Failure`]. `what` names the unreadable part.
    fn reading(self, what: &str) -> Result<T, Failure>;
}

impl<T, E: Error + Send + Sync + 'static> InRepository<T> for Result<T, E> {
    fn reading(self, what: &str) -> Result<T, Failure> {
        self.map_err(|error| {
            let message =
                format!("can't read {what} from the repository: {error}; run `git fsck` for details");
            Failure::new(FailureKind::Io, message).with_source(error)
        })
    }
}

/// Returns the failure for a state that permits no change.
pub(super) fn refused(message: impl Into<String>) -> Failure {
    Failure::new(FailureKind::Refused, message)
}

/// Returns the failure for an invalid path, in the form of a request's other violations: requests that name a document call
/// its path `path`.
pub(super) fn invalid_path(error: &PathError) -> Failure {
    Failure::violations(&[Violation {
        rule: error.rule().into(),
        pointer: "/path".into(),
        message: error.to_string(),
    }])
}

/// Returns the failure for a file that exists and can't be read.
pub(super) fn unreadable(error: &FileError) -> Failure {
    let kind = match error {
        FileError::Symlink { .. } | FileError::NotRegular { .. } => FailureKind::Refused,
        FileError::TooLarge { .. } => FailureKind::TooLarge,
        FileError::Denied { .. } | FileError::Io { .. } => FailureKind::Io,
    };
    Failure::new(kind, error.to_string()).with("rule", error.rule())
}

fn advice(error: &io::Error) -> &'static str {
    if platform::is_held_open(error) {
        return "; close it in the other program, or try again";
    }
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "; free some space and try again",
        io::ErrorKind::PermissionDenied => "; give the server's user access to it",
        io::ErrorKind::ReadOnlyFilesystem => "; mount it writable and try again",
        io::ErrorKind::FileTooLarge => {
            "; write less, or start the server with a higher limit on file sizes (`ulimit -f`)"
        }
        _ => system_advice(error),
    }
}

/// Returns advice on errors without a name in the standard library.
#[cfg(unix)]
fn system_advice(error: &io::Error) -> &'static str {
    use rustix::io::Errno;
    match Errno::from_io_error(error) {
        Some(Errno::MFILE | Errno::NFILE) => {
            "; start the server with a higher limit on open files (`ulimit -n`)"
        }
        Some(Errno::IO) => "; the disk may be failing: back it up, and check it",
        _ => "",
    }
}

#[cfg(not(unix))]
fn system_advice(_: &io::Error) -> &'static str {
    ""
}

/// Returns the failure for a new file whose name some system takes for that of `twin`.
pub(super) fn case_twin(path: &LibraryPath, twin: &str) -> Failure {
    refused(format!(
        "`{path}` differs from the existing `{twin}` only in case or composition, which not every system can tell apart; use \
         that name"
    ))
}
