//! Lock files of git's kind (`X.lock` next to `X`) that are recognized as ours after a crash.
//!
//! The lock is a hard link to a marker file in our own folder: a lock is ours exactly if it is the same file as the marker.
//! Locks of other programs are never removed.

use std::{
    fs::{self, File},
    io::{self, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant, SystemTime},
};

use tabellion_runtime::{Failure, FailureKind};

use super::{
    durable::{SyncTarget, remove_if_there},
    failures::IoContext,
    repository::Repository,
};
use tabellion_platform::{self as platform, entry_id_at, make_like};

/// Time to wait for a git command to finish.
const LOCK_TIMEOUT: Duration = Duration::from_secs(3);
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// The paths of a lock.
#[derive(Debug, Clone)]
pub(super) struct LockFiles {
    /// The locked file.
    pub(super) target: PathBuf,
    /// The marker: our own name for the lock file.
    pub(super) marker: PathBuf,
}

/// A lock that can be taken, or is held. It outlives this value: [`LockFiles::release`] or [`LockFiles::publish`] end it.
pub(super) struct GitLock {
    files: LockFiles,
    content: File,
}

/// Returns the lock of git's index.
pub(super) fn index_lock(repository: &Repository) -> LockFiles {
    LockFiles { target: repository.index(), marker: repository.own("index.new") }
}

impl LockFiles {
    /// Creates the marker, without which the lock can't be taken.
    pub(super) fn prepare(self) -> Result<GitLock, Failure> {
        // It may be a link to the file published last: it must be removed, never written to.
        remove_if_there(&self.marker)?;
        let content = File::create_new(&self.marker).context("create", &self.marker)?;
        if let Ok(target) = fs::metadata(&self.target) {
            make_like(&content, &target).context("protect", &self.marker)?;
        }
        Ok(GitLock { files: self, content })
    }

    /// Takes the lock.
    pub(super) fn acquire(self) -> Result<GitLock, Failure> {
        let lock = self.prepare()?;
        lock.take()?;
        Ok(lock)
    }

    /// Returns true if any program holds the lock.
    pub(super) fn is_taken(&self) -> bool {
        self.lock().symlink_metadata().is_ok()
    }

    /// Returns true if this program holds the lock: this process or one that died.
    pub(super) fn is_ours(&self) -> bool {
        entry_id_at(&self.marker).is_some_and(|marker| entry_id_at(&self.lock()) == Some(marker))
    }

    /// Ends the lock if it is ours; the locked file is unchanged.
    pub(super) fn release(&self) -> Result<(), Failure> {
        if self.is_ours() {
            remove_if_there(&self.lock())?;
        }
        remove_if_there(&self.marker)
    }

    /// Ends the lock, which is ours: the written content replaces the locked file.
    pub(super) fn publish(&self) -> Result<(), Failure> {
        platform::rename(&self.lock(), &self.target).context("replace", &self.target)?;
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
    /// Busy if another program holds it for longer than the timeout.
    pub(super) fn take(&self) -> Result<(), Failure> {
        let lock = self.files.lock();
        let started = Instant::now();
        loop {
            match fs::hard_link(&self.files.marker, &lock) {
                Ok(()) => return Ok(()),
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(error).context("lock", &lock);
                }
                Err(_) if started.elapsed() < LOCK_TIMEOUT => thread::sleep(POLL_INTERVAL),
                Err(_) => return Err(held(&lock)),
            }
        }
    }

    /// Writes the new content of the locked file. It is not durable before [`Self::content`] is synced.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.content.write_all(bytes).context("write", &self.files.marker)
    }

    /// Overwrites bytes at the offset `at`.
    pub(super) fn write_over(&mut self, at: usize, bytes: &[u8]) -> Result<(), Failure> {
        let there = self.content.seek(SeekFrom::Start(at as u64));
        there.and_then(|_| self.content.write_all(bytes)).context("write", &self.files.marker)
    }

    /// Sets the modification time of the new content, unless the disk's clock is not there yet.
    pub(super) fn date(&self, time: SystemTime) -> Result<(), Failure> {
        let written = self.content.metadata().and_then(|found| found.modified());
        written
            .and_then(|written| self.content.set_modified(time.min(written)))
            .context("date", &self.files.marker)
    }

    /// Returns the written content, to be synced.
    pub(super) fn content(&self) -> SyncTarget<'_> {
        SyncTarget::File(&self.content, &self.files.marker)
    }
}

fn held(lock: &Path) -> Failure {
    let message = format!(
        "another git program holds `{}`; try again when it has finished, or remove the file if none is running",
        lock.display()
    );
    Failure::new(FailureKind::Busy, message).with("lock", lock.display().to_string())
}
