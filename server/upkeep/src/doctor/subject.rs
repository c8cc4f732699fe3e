//! The examined library.

use std::{
    cell::OnceCell,
    path::{Path, PathBuf, absolute},
};

use tabellion_library::{Agreement, Library, OpenError};
use tabellion_pack::Packs;
use tabellion_runtime::Failure;

/// A library, as all checks of the doctor see it.
pub(super) struct Subject {
    /// Absolute path of the library's folder.
    pub(super) folder: PathBuf,
    /// The library, or the error of opening it.
    pub(super) library: Result<Library, OpenError>,
    /// The result of comparing the log with its commits, once that was done.
    pub(super) agreement: OnceCell<Result<Agreement, Failure>>,
    /// The contracts that may be served from it.
    pub(super) packs: Packs,
}

impl Subject {
    pub(super) fn new(folder: &Path, packs: Packs) -> Self {
        let absolute = absolute(folder).unwrap_or_else(|_| folder.to_owned());
        Self {
            library: Library::inspect(folder),
            agreement: OnceCell::new(),
            packs,
            folder: absolute.canonicalize().unwrap_or(absolute),
        }
    }

    pub(super) fn library(&self) -> Option<&Library> {
        self.library.as_ref().ok()
    }
}
