//! What files say, read again when they have changed.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

use parking_lot::Mutex;
use tabellion_platform::{FileId, file_id};

/// By what a file is told from one that has taken its place, or was changed; `None` where there is none.
type Version = Option<(Option<FileId>, u64, Option<SystemTime>)>;

/// What some files say.
#[derive(Debug)]
pub(crate) struct Fresh<T> {
    paths: Vec<PathBuf>,
    known: Mutex<(Vec<Version>, Arc<T>)>,
}

impl<T> Fresh<T> {
    /// What `read` makes of the files at `paths`.
    ///
    /// # Errors
    /// Those of `read`.
    pub(crate) fn new<E>(paths: Vec<PathBuf>, read: impl FnOnce() -> Result<T, E>) -> Result<Self, E> {
        // A file that changes after this look is read once more.
        let versions = versions(&paths);
        let known = Mutex::new((versions, Arc::new(read()?)));
        Ok(Self { paths, known })
    }

    /// What the files say now: `read` reads them when they have changed. Where it has nothing, what they said before stays
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
    Some((file_id(&metadata), metadata.len(), metadata.modified().ok()))
}
