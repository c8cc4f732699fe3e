//! Presence of processes: each holds the lock of a file of its own in a folder that they share.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::{FileLock, create_folders, create_own, try_lock_file};

/// This process in a folder; gone when dropped, or when the process dies.
#[derive(Debug)]
pub struct Presence {
    path: PathBuf,
    lock: Option<FileLock>,
}

impl Presence {
    /// Joins the processes in `folder`, which is created if missing, under a name that no process ever has again.
    ///
    /// # Errors
    ///
    /// If the file can't be created, or the file system has no locks.
    pub fn join(folder: &Path, name: &str) -> io::Result<Self> {
        create_folders(folder, 1)?;
        let path = folder.join(name);
        create_own(&path)?;
        let lock = try_lock_file(&path)?;
        Ok(Self { path, lock })
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
        self.lock = None;
    }
}

/// Returns true if the process that joined `folder` under this name runs, or can't be told from one that does. Removes the file of a
/// process that has ended.
pub fn is_present(folder: &Path, name: &str) -> bool {
    let path = folder.join(name);
    if !path.exists() {
        return false;
    }
    match try_lock_file(&path) {
        Ok(Some(lock)) => {
            // No process holds the lock, and none will.
            let _ = fs::remove_file(&path);
            drop(lock);
            false
        }
        Ok(None) | Err(_) => true,
    }
}
