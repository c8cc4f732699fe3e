//! Exports as files in a folder, until they expire.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use tabellion_platform::{create_folders, names};

/// The folder of exports. It is created with the first one.
#[derive(Debug, Clone)]
pub struct ExportFiles {
    folder: PathBuf,
    lifetime: Duration,
}

impl ExportFiles {
    /// Returns the exports in `folder`, which are kept for `lifetime`.
    pub fn new(folder: PathBuf, lifetime: Duration) -> Self {
        Self { folder, lifetime }
    }

    /// Creates a file, and removes those that have expired.
    ///
    /// # Errors
    /// If it can't be created, or exists.
    pub fn create(&self, name: &str) -> io::Result<(PathBuf, File)> {
        create_folders(&self.folder, 3)?;
        self.remove_expired()?;
        let path = self.folder.join(name);
        let file = File::create_new(&path)?;
        Ok((path, file))
    }

    /// Removes an export.
    ///
    /// # Errors
    /// If it can't be removed.
    pub fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    /// Removes expired exports. If one can't be removed, the next export tries again.
    fn remove_expired(&self) -> io::Result<()> {
        let now = SystemTime::now();
        for name in names(&self.folder)? {
            let file = self.folder.join(name);
            let modified = file.symlink_metadata().and_then(|metadata| metadata.modified());
            let age = modified.ok().and_then(|modified| now.duration_since(modified).ok());
            if age.is_some_and(|age| age > self.lifetime) {
                let _ = self.remove(&file);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_export_is_there_until_it_expires() {
        let folder = tempfile::tempdir().unwrap();
        let files = ExportFiles::new(folder.path().join("exports"), Duration::from_secs(60));
        let (old, file) = files.create("old.json").unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(61)).unwrap();
        let (young, file) = files.create("young.json").unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(59)).unwrap();
        assert!(files.create("young.json").is_err(), "no export takes another's place");
        assert_eq!((old.exists(), young.exists()), (false, true));
    }
}
