//! Values from files, which are read again after a change or a failure.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use parking_lot::Mutex;
use tabellion_platform::{FileId, file_id_at};

/// Identity, size, modification time and permissions of a file; `None` if it does not exist.
type Version = Option<(Option<FileId>, u64, Option<SystemTime>, fs::Permissions)>;

/// Time after which a failed read is repeated, since the files' metadata need not show that they can be read now.
const AGAIN: Duration = Duration::from_secs(1);

/// A value read from files.
#[derive(Debug)]
pub(crate) struct Fresh<T> {
    paths: Vec<PathBuf>,
    known: Mutex<Cached<T>>,
}

/// Result of reading the files again.
pub(crate) enum Read<T> {
    /// The new value.
    Done(T),
    /// The files can't be read. Until they can be, `instead` is the value; `None` keeps the previous one.
    Failed { instead: Option<T> },
}

#[derive(Debug)]
struct Cached<T> {
    versions: Vec<Version>,
    value: Arc<T>,
    /// Time of the last failed read.
    failed: Option<Instant>,
}

impl<T> Fresh<T> {
    /// Reads the value for the first time from the files at `paths`.
    pub(crate) fn new<E>(paths: Vec<PathBuf>, read: impl FnOnce() -> Result<T, E>) -> Result<Self, E> {
        // A file that changes after this point is read once more.
        let versions = versions(&paths);
        let known = Cached { versions, value: Arc::new(read()?), failed: None };
        let known = Mutex::new(known);
        Ok(Self { paths, known })
    }

    /// Returns the current value. Calls `read` if the files have changed, and at intervals while they can't be read.
    pub(crate) fn current(&self, read: impl FnOnce() -> Read<T>) -> Arc<T> {
        let mut known = self.known.lock();
        let versions = versions(&self.paths);
        let is_due = known.failed.is_some_and(|at| at.elapsed() >= AGAIN);
        if versions != known.versions || is_due {
            known.versions = versions;
            let read = read();
            known.failed = matches!(read, Read::Failed { .. }).then(Instant::now);
            if let Read::Done(value) | Read::Failed { instead: Some(value) } = read {
                known.value = Arc::new(value);
            }
        }
        known.value.clone()
    }
}

fn versions(paths: &[PathBuf]) -> Vec<Version> {
    paths.iter().map(|path| version(path)).collect()
}

fn version(path: &Path) -> Version {
    let metadata = fs::metadata(path).ok()?;
    Some((file_id_at(path), metadata.len(), metadata.modified().ok(), metadata.permissions()))
}
