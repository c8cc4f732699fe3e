//! Errors when opening a library.

use std::path::{Path, PathBuf};

/// Error when opening a library.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The folder can't be created or entered.
    #[error("can't open the library `{path}`: {source}")]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The folder and a folder above it are missing.
    #[error(
        "`{}` does not exist; the nearest existing folder is `{}`{}",
        path.display(),
        nearest.display(),
        suggestion(similar.as_deref())
    )]
    Missing {
        /// The folder.
        path: PathBuf,
        /// The nearest folder above it that exists.
        nearest: PathBuf,
        /// The existing folder that was probably meant.
        similar: Option<PathBuf>,
    },
    /// The path of the library, or of a folder above it, does not lead to a folder.
    #[error("`{}` is not a folder; choose a folder of notes", .0.display())]
    NotAFolder(PathBuf),
    /// The path of the library, or of a folder above it, is a symbolic link without a target.
    #[error("`{}` is a symbolic link to something that does not exist", .0.display())]
    BrokenLink(PathBuf),
    /// The folder is git's own, or a bare repository.
    #[error("`{0}` is a bare repository or a folder of git's own; a library needs a working tree")]
    Bare(PathBuf),
    /// The repository uses an unsupported feature.
    #[error("the repository at `{path}` {what}, which is not supported")]
    Unsupported {
        /// The top of the working tree.
        path: PathBuf,
        /// The unsupported feature.
        what: String,
    },
    /// The folder is in no repository, and none may be created.
    #[error("`{}` is not a library yet, because it is in no git repository; `tabellion init` makes it one", .0.display())]
    NoRepository(PathBuf),
    /// The repository can't be read.
    #[error(
        "the repository at `{path}` can't be opened: {message}. Repair `.git` or restore it from a backup; or, to begin a new \
         history with the files as they are, move it out of the folder"
    )]
    Damaged {
        /// The top of the working tree.
        path: PathBuf,
        /// The cause.
        message: String,
    },
    /// The surrounding repository ignores the folder.
    #[error(
        "`{path}` is ignored by the git repository at `{top}`, so that no commit would carry its files; make it a \
         repository of its own (`git init` in it), or change the rule that ignores it (`git check-ignore -v` names it)"
    )]
    Ignored {
        /// The library's folder.
        path: PathBuf,
        /// The top of the surrounding working tree.
        top: PathBuf,
    },
}

fn suggestion(similar: Option<&Path>) -> String {
    let similar = similar.map(|folder| format!(" (did you mean `{}`?)", folder.display()));
    similar.unwrap_or_default()
}
