//! Why vectors can't be used.

use std::{io, path::PathBuf};

use rusqlite::ErrorCode;
use tabellion_embed::ModelError;

/// Why vectors were not made or compared. Texts, and searches by words, are never affected.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MeaningError {
    /// The file can't be read or written.
    #[error("the vectors can't be used: {0}")]
    Database(#[from] rusqlite::Error),
    /// A file can't be created or locked.
    #[error("can't use `{}`: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The model can't be opened.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A corpus can't say what it has.
    #[error("texts to embed can't be read: {0}")]
    Corpus(#[source] crate::CorpusError),
}

impl MeaningError {
    pub(crate) fn at(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        |source| Self::Io { path, source }
    }

    /// Returns whether the file is not what this version writes.
    pub(crate) fn is_damage(&self) -> bool {
        let Self::Database(error) = self else { return false };
        match error.sqlite_error_code() {
            Some(code) => matches!(
                code,
                ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::Unknown
            ),
            // Tables that hold something else.
            None => true,
        }
    }
}
