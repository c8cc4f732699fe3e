//! Errors of the catalogue, each with a remedy.

use std::io;

use rusqlite::ErrorCode;
use tabellion_library::walk::FolderError;
use tabellion_sqlite::{Damage, FileError, is_busy};

/// Error of the catalogue. Notes are never affected.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CatalogueError {
    /// The library could not be read.
    #[error("the notes can't be listed: {0}")]
    Folder(#[from] FolderError),
    /// Another process is writing, and did not finish in time.
    #[error("another process is filling the catalogue of notes; try again")]
    Busy,
    /// The file is not a valid catalogue.
    #[error("the catalogue of notes is damaged: {0}; it is filled again at the next call")]
    Damaged(String),
    /// The file could not be read or written.
    #[error("can't use the catalogue of notes: {0}{advice}", advice = advice(.0))]
    Sqlite(#[source] rusqlite::Error),
    /// The file could not be created.
    #[error("can't create `{path}`: {source}")]
    Io {
        /// The file.
        path: String,
        /// The system's error.
        source: io::Error,
    },
}

impl CatalogueError {
    /// Returns the kind of damage to the file that the error indicates; `None` if it indicates none.
    pub(crate) fn damage(&self) -> Option<Damage> {
        match self {
            Self::Damaged(_) => Some(Damage::Proven),
            Self::Sqlite(error) => Damage::in_derived(error),
            _ => None,
        }
    }
}

/// Returns the remedy for an error of the disk: SQLite does not distinguish a full disk from a failing one.
fn advice(error: &rusqlite::Error) -> &'static str {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull | ErrorCode::SystemIoFailure) => {
            "; is the disk full? Free some space and try again: it is derived from the files, and nothing of them is lost"
        }
        _ => "",
    }
}

impl From<rusqlite::Error> for CatalogueError {
    fn from(error: rusqlite::Error) -> Self {
        if is_busy(&error) {
            Self::Busy
        } else if Damage::in_derived(&error) == Some(Damage::Proven) {
            Self::Damaged(error.to_string())
        } else {
            Self::Sqlite(error)
        }
    }
}

impl From<FileError> for CatalogueError {
    fn from(error: FileError) -> Self {
        match error {
            FileError::Sqlite(error) => error.into(),
            FileError::Io { path, source } => Self::Io { path: path.display().to_string(), source },
        }
    }
}
