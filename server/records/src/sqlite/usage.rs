//! Locks of the processes that use a data file: each holds a share of a lock, and one that replaces or migrates the file holds all of it.

use std::{
    io,
    path::{Path, PathBuf},
};

use tabellion_platform::{FileLock, try_lock_file, try_share_lock};
use tabellion_runtime::Failure;

use crate::failures::io_failure;

/// The right to use a data file, released on drop.
#[derive(Debug)]
pub(crate) struct Usage(
    #[expect(dead_code, reason = "held, never read: closing it releases the lock")] FileLock,
);

/// Returns the path of the lock of a data file.
pub(crate) fn lock_path(path: &Path) -> PathBuf {
    path.with_extension("use")
}

/// Takes a share.
pub(crate) fn shared(path: &Path) -> Result<Usage, Failure> {
    let lock = create(path)?;
    let share = try_share_lock(&lock).map_err(io_failure("lock", &lock))?;
    share.map(Usage).ok_or_else(being_replaced)
}

/// As [`shared`], for reading only: a reader without the permission to lock needs no share.
pub(crate) fn shared_if_possible(path: &Path) -> Result<Option<Usage>, Failure> {
    let lock = lock_path(path);
    match try_share_lock(&lock) {
        Ok(Some(share)) => Ok(Some(Usage(share))),
        Ok(None) => Err(being_replaced()),
        Err(error) if is_read_only(&error) => Ok(None),
        Err(error) => Err(io_failure("lock", &lock)(error)),
    }
}

/// Takes the whole lock.
pub(crate) fn alone(path: &Path) -> Result<Usage, Failure> {
    let lock = create(path)?;
    let all = try_lock_file(&lock).map_err(io_failure("lock", &lock))?;
    all.map(Usage).ok_or_else(|| {
        Failure::busy(format!("`{}` is in use; stop the servers that use it first", path.display()))
    })
}

fn create(path: &Path) -> Result<PathBuf, Failure> {
    let lock = lock_path(path);
    tabellion_platform::create_own(&lock).map_err(io_failure("create", &lock))?;
    Ok(lock)
}

fn being_replaced() -> Failure {
    Failure::busy("another process is recovering or migrating the data; try again when it is done")
}

fn is_read_only(error: &io::Error) -> bool {
    use io::ErrorKind::{NotFound, PermissionDenied, ReadOnlyFilesystem};
    matches!(error.kind(), NotFound | PermissionDenied | ReadOnlyFilesystem)
}
