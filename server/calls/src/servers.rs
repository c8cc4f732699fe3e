//! Which servers live: each holds the lock of a file that is named for it.

use std::{collections::HashSet, fs, io, path::PathBuf};

use tabellion_platform::{FileLock, create_folders, create_own, try_lock_file};
use uuid::Uuid;

/// This process among the servers that share a file.
#[derive(Debug)]
pub(crate) struct Server {
    folder: PathBuf,
    pub(crate) id: String,
    lock: Option<FileLock>,
}

impl Server {
    /// Joins the servers in `folder`.
    pub(crate) fn join(folder: PathBuf) -> io::Result<Self> {
        create_folders(&folder, 1)?;
        let id = Uuid::new_v4().to_string();
        let path = folder.join(&id);
        create_own(&path)?;
        let lock = try_lock_file(&path)?;
        Ok(Self { folder, id, lock })
    }

    /// Returns which of these servers have ended.
    pub(crate) fn ended<'s>(&self, servers: impl IntoIterator<Item = &'s str>) -> HashSet<&'s str> {
        servers.into_iter().filter(|id| !self.lives(id)).collect()
    }

    fn lives(&self, id: &str) -> bool {
        if id == self.id {
            return true;
        }
        let path = self.folder.join(id);
        if !path.exists() {
            return false;
        }
        match try_lock_file(&path) {
            Ok(Some(lock)) => {
                // No process has it, and none will: ids are not used again.
                let _ = fs::remove_file(&path);
                drop(lock);
                false
            }
            // If that can't be told, it is not taken for ended.
            Ok(None) | Err(_) => true,
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = fs::remove_file(self.folder.join(&self.id));
        self.lock = None;
    }
}
