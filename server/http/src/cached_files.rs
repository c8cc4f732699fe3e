//! Values parsed from files, which are read again when they change.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

use parking_lot::Mutex;
use tabellion_platform::{FileId, file_id};

/// Identifies a version of a file; `None` for a missing file.
type Version = Option<(Option<FileId>, u64, Option<SystemTime>)>;

/// A value parsed from files.
#[derive(Debug)]
pub(crate) struct CachedFiles<T> {
    paths: Vec<PathBuf>,
    known: Mutex<(Vec<Version>, Arc<T>)>,
}

impl<T> CachedFiles<T> {
    /// Reads the files at `paths`.
    ///
    /// # Errors
    /// Those of `read`.
    pub(crate) fn new<E>(paths: Vec<PathBuf>, read: impl FnOnce() -> Result<T, E>) -> Result<Self, E> {
        // A change after this point leads to another read.
        let versions = versions(&paths);
        let known = Mutex::new((versions, Arc::new(read()?)));
        Ok(Self { paths, known })
    }

    /// Returns the current value: calls `read` if the files have changed. If it returns `None`, the former value stays until
    /// they change again.
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
    Some((file_id(&metadata), metadata.len(), metadata.modified().ok()))
}
