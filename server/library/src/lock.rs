//! Locks of git's own kind (`X.lock` beside `X`), such that after a crash ours can be told from anybody else's.
//!
//! The lock is a second name, by hard link, of a marker file in our own folder: a lock is ours exactly if it is the same
//! file as the marker. We never remove anybody else's.

use std::{
    fs::{self, File},
    io::{self, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant, SystemTime},
};

use tabellion_runtime::{Failure, FailureKind};

use super::{durable::Thing, repository::Repository, trouble::At};
use tabellion_platform::{file_id, make_like};

/// How long we wait for a git command to finish.
const PATIENCE: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(10);

/// Where a lock's files are.
#[derive(Debug, Clone)]
pub(super) struct LockFiles {
    /// What is locked.
    pub(super) target: PathBuf,
    /// Our own name for the lock file.
    pub(super) marker: PathBuf,
}

/// A lock that we may take, or hold. It stays when this is dropped: [`LockFiles::release`] or [`LockFiles::publish`] end
/// it.
pub(super) struct GitLock {
    files: LockFiles,
    content: File,
}

/// Returns the lock of git's index.
pub(super) fn index_lock(repository: &Repository) -> LockFiles {
    LockFiles {
        target: repository.index(),
        marker: repository.own("index.new"),
    }
}

impl LockFiles {
    /// Makes the marker, so that the lock can be taken.
    ///
    /// # Errors
    /// When it can't be made.
    pub(super) fn prepare(self) -> Result<GitLock, Failure> {
        // It may be a second name of what the last lock published: removed, never written to.
        remove_if_there(&self.marker)?;
        let content = File::create_new(&self.marker).at("create", &self.marker)?;
        if let Ok(target) = fs::metadata(&self.target) {
            make_like(&content, &target).at("protect", &self.marker)?;
        }
        Ok(GitLock { files: self, content })
    }

    /// Takes the lock.
    ///
    /// # Errors
    /// As for [`GitLock::take`].
    pub(super) fn acquire(self) -> Result<GitLock, Failure> {
        let lock = self.prepare()?;
        lock.take()?;
        Ok(lock)
    }

    /// Whether anybody holds the lock.
    pub(super) fn is_taken(&self) -> bool {
        self.lock().symlink_metadata().is_ok()
    }

    /// Whether we hold the lock, this process or a dead one.
    pub(super) fn is_ours(&self) -> bool {
        let id = |path: &Path| fs::symlink_metadata(path).ok().and_then(|found| file_id(&found));
        id(&self.marker).is_some_and(|marker| id(&self.lock()) == Some(marker))
    }

    /// Ends the lock, if it is ours, and leaves what it locked as it is.
    pub(super) fn release(&self) -> Result<(), Failure> {
        if self.is_ours() {
            remove_if_there(&self.lock())?;
        }
        remove_if_there(&self.marker)
    }

    /// Ends the lock, which is ours: what was written to it takes the place of what it locked.
    pub(super) fn publish(&self) -> Result<(), Failure> {
        fs::rename(self.lock(), &self.target).at("replace", &self.target)?;
        remove_if_there(&self.marker)
    }

    fn lock(&self) -> PathBuf {
        let mut lock = self.target.clone().into_os_string();
        lock.push(".lock");
        lock.into()
    }
}

impl GitLock {
    /// Takes the lock.
    ///
    /// # Errors
    /// Busy, when somebody else holds it for longer than we wait.
    pub(super) fn take(&self) -> Result<(), Failure> {
        let lock = self.files.lock();
        let started = Instant::now();
        loop {
            match fs::hard_link(&self.files.marker, &lock) {
                Ok(()) => return Ok(()),
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(error).at("lock", &lock);
                }
                Err(_) if started.elapsed() < PATIENCE => thread::sleep(PAUSE),
                Err(_) => return Err(held(&lock)),
            }
        }
    }

    /// Writes what is to take the locked file's place. Not durable before [`Self::content`] is synced.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.content.write_all(bytes).at("write", &self.files.marker)
    }

    /// Writes these bytes over those at the offset `at`.
    pub(super) fn write_over(&mut self, at: usize, bytes: &[u8]) -> Result<(), Failure> {
        let there = self.content.seek(SeekFrom::Start(at as u64));
        there
            .and_then(|_| self.content.write_all(bytes))
            .at("write", &self.files.marker)
    }

    /// Gives what is to take the locked file's place this time, unless the disk's clock has not come there yet.
    pub(super) fn date(&self, time: SystemTime) -> Result<(), Failure> {
        let written = self.content.metadata().and_then(|found| found.modified());
        written
            .and_then(|written| self.content.set_modified(time.min(written)))
            .at("date", &self.files.marker)
    }

    /// The written content.
    pub(super) fn content(&self) -> Thing<'_> {
        Thing::File(&self.content, &self.files.marker)
    }
}

/// Removes a file that need not be there.
pub(super) fn remove_if_there(path: &Path) -> Result<(), Failure> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error).at("remove", path),
        _ => Ok(()),
    }
}

fn held(lock: &Path) -> Failure {
    let message = format!(
        "another git program holds `{}`; try again when it has finished, or remove the file if none is running",
        lock.display()
    );
    Failure::new(FailureKind::Busy, message).with("lock", lock.display().to_string())
}
