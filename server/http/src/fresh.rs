//! Values that are read from files, again whenever these change.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

use parking_lot::Mutex;
use tabellion_platform::{FileId, file_id_at};

/// Identity, size and modification time of a file; `None` if it does not exist.
type Version = Option<(Option<FileId>, u64, Option<SystemTime>)>;

/// A value read from files.
#[derive(Debug)]
pub(crate) struct Fresh<T> {
    paths: Vec<PathBuf>,
    known: Mutex<(Vec<Version>, Arc<T>)>,
}

impl<T> Fresh<T> {
    /// Reads the value for the first time from the files at `paths`.
    ///
    /// # Errors
    /// Those of `read`.
    pub(crate) fn new<E>(paths: Vec<PathBuf>, read: impl FnOnce() -> Result<T, E>) -> Result<Self, E> {
        // A file that changes after this look is read once more.
        let versions = versions(&paths);
        let known = Mutex::new((versions, Arc::new(read()?)));
        Ok(Self { paths, known })
    }

    /// Returns the current value. Calls `read` if the files have changed; if that returns `None`, the previous value stays
    /// until they change again.
    pub(crate) fn current(&self, read: impl FnOnce() -> Option<T>) -> Arc<T> {
        let mut known = self.known.lock();
        let versions = versions(&self.paths);
        if versions != known.0 {
            known.0 = versions;
            if let Some(value) = read() {
                known.1 = Arc::new(value);
            }
        }
        known.1.clone()
    }
}

fn versions(paths: &[PathBuf]) -> Vec<Version> {
    paths.iter().map(|path| version(path)).collect()
}

fn version(path: &Path) -> Version {
    let metadata = fs::metadata(path).ok()?;
    Some((file_id_at(path), metadata.len(), metadata.modified().ok()))
}
