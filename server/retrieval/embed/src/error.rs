//! Errors, each with the next step for the caller.

use std::{io, path::PathBuf};

/// Error in opening or installing a model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// There is no such file.
    #[error("the model is not installed: there is no `{}`; run `tabellion model install`", path.display())]
    Missing {
        /// The path of the weights.
        path: PathBuf,
    },
    /// The file is not the model's.
    #[error("`{}` is not the model's: {problem}; run `tabellion model install`", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The first difference found.
        problem: String,
    },
    /// A file that was to be installed neither is nor contains the model's.
    #[error("`{from}` can't be installed: {problem}; what is wanted is {wanted}")]
    Refused {
        /// The file or URL.
        from: String,
        /// The reason for the refusal.
        problem: String,
        /// The files that can be installed.
        wanted: &'static str,
    },
    /// The download failed.
    #[error(
        "can't download `{url}`: {problem}; download it with another program, then run `tabellion model install FILE`"
    )]
    Download {
        /// The address.
        url: String,
        /// The cause.
        problem: String,
    },
    /// The file could not be read or written.
    #[error("can't use `{}`: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl ModelError {
    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        |source| match source.kind() {
            io::ErrorKind::NotFound => Self::Missing { path },
            _ => Self::Io { path, source },
        }
    }
}

/// The progress function asked to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("embedding was cancelled")]
pub struct Cancelled;
