//! Liveness of the servers: each holds the lock of a file named after its id.

use std::{
    collections::HashSet,
    fs, io,
    path::{Path, PathBuf},
};

use tabellion_platform::{FileLock, create_folders, create_own, names, try_lock_file};
use uuid::Uuid;

/// Maximum number of servers that are looked at.
const MAX_SERVERS: usize = 1_000;

/// This process as one of the servers that share a file.
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

    /// Returns those of these servers that have ended.
    pub(crate) fn ended<'s>(&self, servers: impl IntoIterator<Item = &'s str>) -> HashSet<&'s str> {
        let lives = |id: &str| id == self.id || lives(&self.folder.join(id));
        servers.into_iter().filter(|id| !lives(id)).collect()
    }
}

/// Returns true if one of the servers in `folder` has not ended.
pub(crate) fn any_lives(folder: &Path) -> bool {
    names(folder).unwrap_or_default().iter().take(MAX_SERVERS).any(|id| lives(&folder.join(id)))
}

fn lives(path: &Path) -> bool {
    if !path.exists() {
        return false;
    }
    match try_lock_file(path) {
        Ok(Some(lock)) => {
            // No process holds the lock, and none will: ids are never reused.
            let _ = fs::remove_file(path);
            drop(lock);
            false
        }
        // If the lock can't be tried, the server counts as alive.
        Ok(None) | Err(_) => true,
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = fs::remove_file(self.folder.join(&self.id));
        self.lock = None;
    }
}
