//! Errors of the index, each with the next step for the caller.

use std::io;

use tabellion_sqlite::{Damage, FileError, is_busy};

use crate::SourceError;

/// Error of the index. The source is never affected.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// The index lacks changes, and the call has no source to take them from.
    #[error("the index has changes up to {at}, and {needed} is needed; bring it up to date first")]
    Behind {
        /// The last change that the index has.
        at: i64,
        /// The required change.
        needed: i64,
    },
    /// The source has fewer changes than the caller required.
    #[error("the index can't be brought up to date: its source ends at change {end}, and {needed} is needed")]
    SourceEnds {
        /// The last change of the source.
        end: i64,
        /// The required change.
        needed: i64,
    },
    /// The source could not be read.
    #[error("the index can't be brought up to date: {0}")]
    Source(#[source] SourceError),
    /// Another process is writing, and did not finish in time.
    #[error("another process is rebuilding the index; try again")]
    Busy,
    /// The file is not a valid index. It is rebuilt when the index is next brought up to date.
    #[error("the index is damaged: {0}; it is rebuilt at the next search")]
    Damaged(String),
    /// The file could not be read or written.
    #[error("can't use the index: {0}")]
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

impl IndexError {
    pub(crate) fn damaged(what: impl Into<String>) -> Self {
        Self::Damaged(what.into())
    }

    /// Returns the damage to the file that the error is evidence of, if any.
    pub(crate) fn damage(&self) -> Option<Damage> {
        match self {
            Self::Damaged(_) => Some(Damage::Proven),
            Self::Sqlite(error) => Damage::in_derived(error),
            _ => None,
        }
    }
}

impl From<rusqlite::Error> for IndexError {
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

impl From<FileError> for IndexError {
    fn from(error: FileError) -> Self {
        match error {
            FileError::Sqlite(error) => error.into(),
            FileError::Io { path, source } => Self::Io { path: path.display().to_string(), source },
        }
    }
}
