//! Errors of the index.

use std::{io, path::PathBuf};

use tabellion_sqlite::{FileError, is_busy};

/// Error of a run or a search.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CodeError {
    /// Another process writes, or the collection is being indexed.
    #[error("the index of code is being written by another process; try again in a moment")]
    Busy,
    /// The run was asked to end. Its committed work stays.
    #[error("the run was ended")]
    Ended,
    /// The process ended each time that it ran.
    #[error(
        "the server ended twice while it indexed this, so it is not tried again by itself; begin a run anew, and leave out what may \
         have ended it (`exclude_dirs`, `ignore_patterns`)"
    )]
    Abandoned,
    /// The file has the tables of a different version.
    #[error(
        "the index of code was made anew by another version of the program; restart this server, or the client that starts it"
    )]
    Remade,
    /// A filter has no meaning.
    #[error("{0}")]
    Filter(String),
    /// The database can't be read or written.
    #[error("the index of code can't be used: {0}")]
    Database(#[source] rusqlite::Error),
    /// A file or folder can't be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The files that are to be indexed can't be listed.
    #[error("{0}")]
    Listing(String),
}

impl CodeError {
    /// Makes a function that adds the path to an error.
    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        |source| Self::Io { path, source }
    }
}

impl From<rusqlite::Error> for CodeError {
    fn from(error: rusqlite::Error) -> Self {
        if is_busy(&error) { Self::Busy } else { Self::Database(error) }
    }
}

impl From<FileError> for CodeError {
    fn from(error: FileError) -> Self {
        match error {
            FileError::Sqlite(error) => error.into(),
            FileError::Io { path, source } => Self::Io { path, source },
        }
    }
}
