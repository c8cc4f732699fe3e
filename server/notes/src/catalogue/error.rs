//! Why the catalogue did not answer, each with what to do next.

use std::{io, path::Path};

use rusqlite::ErrorCode;
use tabellion_library::walk::FolderError;

/// Why the catalogue did not answer. Notes are never affected.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CatalogueError {
    /// The library could not be read.
    #[error("the notes can't be listed: {0}")]
    Folder(#[from] FolderError),
    /// Another process is writing, and did not finish in time.
    #[error("another process is filling the catalogue of notes; try again")]
    Busy,
    /// What the file has is no catalogue.
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
    pub(crate) fn at(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::Io {
            path: path.display().to_string(),
            source,
        }
    }

    pub(crate) fn is_damage(&self) -> bool {
        matches!(self, Self::Damaged(_))
    }
}

/// Returns what to do about an error of the disk: SQLite does not tell a full one from one that fails.
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
        use rusqlite::Error::{
            FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType, QueryReturnedNoRows,
        };
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy,
            // The last is a table that is not as this program creates it.
            Some(
                ErrorCode::DatabaseCorrupt
                | ErrorCode::NotADatabase
                | ErrorCode::ConstraintViolation
                | ErrorCode::Unknown,
            ) => Self::Damaged(error.to_string()),
            None if matches!(
                error,
                QueryReturnedNoRows
                    | InvalidColumnType(..)
                    | FromSqlConversionFailure(..)
                    | IntegralValueOutOfRange(..)
            ) =>
            {
                Self::Damaged(error.to_string())
            }
            _ => Self::Sqlite(error),
        }
    }
}
