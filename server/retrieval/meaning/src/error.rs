//! Errors of vectors.

use std::{io, path::PathBuf};

use tabellion_embed::ModelError;
use tabellion_sqlite::{Damage, FileError};

/// Error in making or comparing vectors. Texts, and searches by words, are never affected.
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
    /// A corpus can't list its texts.
    #[error("texts to embed can't be read: {0}")]
    Corpus(#[source] crate::CorpusError),
}

impl MeaningError {
    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        |source| Self::Io { path, source }
    }

    /// Returns the damage to the file that the error is evidence of, if any.
    pub(crate) fn damage(&self) -> Option<Damage> {
        let Self::Database(error) = self else { return None };
        Damage::in_derived(error)
    }
}

impl From<FileError> for MeaningError {
    fn from(error: FileError) -> Self {
        match error {
            FileError::Sqlite(error) => Self::Database(error),
            FileError::Io { path, source } => Self::Io { path, source },
        }
    }
}
