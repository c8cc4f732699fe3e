//! The library's folder: opens, lists and exchanges documents without following symbolic links.

use std::{
    fs::{self, File},
    io::Read,
    mem,
    os::{fd::OwnedFd, unix::fs::PermissionsExt},
    path::{Path, PathBuf},
    time::SystemTime,
};

use rustix::{
    fs::{AtFlags, Dir, FileType, Mode, OFlags, RenameFlags, ResolveFlags},
    io::Errno,
};
use tabellion_runtime::{Failure, FailureKind};

use super::{
    failed,
    mutant::{self, Mutant},
    path,
};

#[derive(Debug)]
pub(super) struct Folder {
    pub(super) path: PathBuf,
    root: OwnedFd,
}

/// Content and metadata of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DocumentSnapshot {
    pub(super) bytes: Vec<u8>,
    pub(super) mode: u32,
    pub(super) modified: SystemTime,
}

/// Paths of files and folders, each sorted.
pub(super) type Listing = (Vec<String>, Vec<String>);

#[derive(Debug, PartialEq, Eq)]
pub(super) enum ExchangeResult {
    Done,
    /// The document had changed meanwhile; it is unchanged.
    Raced,
}

impl Folder {
    /// Opens the folder at `path`, which may be a symbolic link itself.
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
        let path = path.canonicalize().map_err(failed("find the library"))?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::open(&path, flags, Mode::empty()).map_err(failed("open the library"))?;
        Ok(Self { path, root })
    }

    /// Reads the document at `path`, if it exists.
    pub(super) fn read(&self, path: &str) -> Result<Option<DocumentSnapshot>, Failure> {
        self.check_repository(path)?;
        // Opening a pipe must not block.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let Some(file) = self.open_beneath(path, flags)? else {
            return Ok(None);
        };
        let mut file = File::from(file);
        let metadata = file.metadata().map_err(failed("read the document"))?;
        if !metadata.is_file() && !mutant::is(Mutant::PipesAreEmpty) {
            return Err(refused(path, "is not a file"));
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(failed("read the document"))?;
        let modified = metadata.modified().map_err(failed("read the document"))?;
        Ok(Some(DocumentSnapshot { bytes, mode: metadata.permissions().mode() & 0o777, modified }))
    }

    /// Lists the documents and folders below `folder`, or, unless `recursive`, directly in it. Returns `None` if the
    /// folder does not exist.
    pub(super) fn list(&self, folder: &str, recursive: bool) -> Result<Option<Listing>, Failure> {
        let (mut files, mut folders) = (Vec::new(), Vec::new());
        let mut open = vec![folder.to_owned()];
        while let Some(folder) = open.pop() {
            let at = if folder.is_empty() { "." } else { &folder };
            let Some(dir) = self.open_beneath(at, OFlags::RDONLY | OFlags::DIRECTORY)? else {
                return Ok(if files.is_empty() && folders.is_empty() {
                    None
                } else {
                    Some((files, folders))
                });
            };
            for entry in Dir::read_from(&dir).map_err(failed("list a folder"))? {
                let entry = entry.map_err(failed("list a folder"))?;
                let Ok(name) = entry.file_name().to_str() else {
                    continue;
                };
                if path::check_segment(name).is_err() {
                    continue;
                }
                let Ok(stat) = rustix::fs::statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW) else {
                    continue;
                };
                let whole = if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
                match FileType::from_raw_mode(stat.st_mode) {
                    FileType::RegularFile if path::is_markdown(name) => files.push(whole),
                    FileType::Directory if !self.path.join(&whole).join(".git").exists() => {
                        if recursive {
                            open.push(whole.clone());
                        }
                        folders.push(whole);
                    }
                    _ => {}
                }
            }
        }
        files.sort();
        folders.sort();
        Ok(Some((files, folders)))
    }

    /// Returns the missing parent folders of `path`, from the top.
    pub(super) fn missing(&self, path: &str) -> Result<Vec<String>, Failure> {
        let mut missing = Vec::new();
        for (end, _) in path.match_indices('/') {
            if self.open_beneath(&path[..end], OFlags::PATH | OFlags::DIRECTORY)?.is_none() {
                missing.push(path[..end].to_owned());
            }
        }
        Ok(missing)
    }

    /// Refuses a new name that differs from an existing one only by case.
    pub(super) fn check_twins(&self, path: &str) -> Result<(), Failure> {
        let mut folder = ".";
        for (end, _) in path.match_indices('/').chain([(path.len(), "")]) {
            let Some(dir) = self.open_beneath(folder, OFlags::RDONLY | OFlags::DIRECTORY)? else {
                return Ok(());
            };
            let name = path[..end].rsplit('/').next().unwrap_or_default();
            for entry in Dir::read_from(&dir).map_err(failed("list a folder"))? {
                let entry = entry.map_err(failed("list a folder"))?;
                let other = entry.file_name().to_string_lossy();
                if other != name && other.to_lowercase() == name.to_lowercase() {
                    return Err(refused(path, &format!("differs from `{other}` only by case")));
                }
            }
            folder = &path[..end];
        }
        Ok(())
    }

    /// Exchanges the document at `path` with the file `prepared`, or moves the document there if `gone`. Returns
    /// [`ExchangeResult::Raced`] if the document is no longer `before`. Afterwards `prepared` holds the file that is not in
    /// the folder: the old document, the new one, or an intermediate version that a person saved.
    pub(super) fn swap(
        &self,
        path: &str,
        prepared: &Path,
        gone: bool,
        before: Option<&DocumentSnapshot>,
    ) -> Result<ExchangeResult, Failure> {
        for folder in self.missing(path)? {
            let (parent, name) = folder.rsplit_once('/').unwrap_or((".", &folder));
            let parent = self.folder_of(parent)?;
            rustix::fs::mkdirat(parent, name, Mode::from_raw_mode(0o777)).map_err(failed("make a folder"))?;
        }
        let (parent, name) = path.rsplit_once('/').unwrap_or((".", path));
        let parent = self.folder_of(parent)?;
        let Some(before) = before else {
            let made =
                rustix::fs::renameat_with(rustix::fs::CWD, prepared, &parent, name, RenameFlags::NOREPLACE);
            if made == Err(Errno::EXIST) {
                return Ok(ExchangeResult::Raced);
            }
            made.map_err(failed("put the document in place"))?;
            return sync(parent).map(|()| ExchangeResult::Done);
        };
        let exchange = |back: bool| {
            let flags = if gone { RenameFlags::NOREPLACE } else { RenameFlags::EXCHANGE };
            if gone && !back {
                rustix::fs::renameat_with(&parent, name, rustix::fs::CWD, prepared, flags)
            } else {
                rustix::fs::renameat_with(rustix::fs::CWD, prepared, &parent, name, flags)
            }
        };
        let mut placed = fs::read(prepared).ok();
        match exchange(false) {
            Err(Errno::NOENT) => return Ok(ExchangeResult::Raced),
            other => other.map_err(failed("put the document in place"))?,
        }
        let mut out = fs::read(prepared).ok();
        if out.as_ref() == Some(&before.bytes) {
            return sync(parent).map(|()| ExchangeResult::Done);
        }
        // A person saved the document after it was read. Exchanges back, unless the person has saved it once more.
        loop {
            match exchange(true) {
                Err(Errno::EXIST | Errno::NOENT) => break,
                other => other.map_err(failed("put a person's document back"))?,
            }
            let came = fs::read(prepared).ok();
            if came == placed {
                break;
            }
            placed = mem::replace(&mut out, came);
        }
        Ok(ExchangeResult::Raced)
    }

    /// Removes folders in reverse order, as long as they are empty.
    pub(super) fn remove_empty(&self, folders: &[String]) {
        for folder in folders.iter().rev() {
            let (parent, name) = folder.rsplit_once('/').unwrap_or((".", folder));
            if let Ok(parent) = self.folder_of(parent) {
                // Another process may have put a file in it.
                let _ = rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR);
            }
        }
    }

    fn folder_of(&self, path: &str) -> Result<OwnedFd, Failure> {
        let found = self.open_beneath(path, OFlags::RDONLY | OFlags::DIRECTORY)?;
        found.ok_or_else(|| {
            Failure::new(
                FailureKind::Conflict,
                format!("the folder `{path}` was removed meanwhile; try again"),
            )
        })
    }

    /// Opens the file or folder at `path` below the root; returns `None` if it does not exist.
    fn open_beneath(&self, path: &str, flags: OFlags) -> Result<Option<OwnedFd>, Failure> {
        let mut resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        if mutant::follows_links(&self.path, path) {
            resolve = ResolveFlags::empty();
        }
        let flags = flags | OFlags::CLOEXEC;
        match rustix::fs::openat2(&self.root, path, flags, Mode::empty(), resolve) {
            Ok(file) => Ok(Some(file)),
            Err(Errno::NOENT) => Ok(None),
            Err(Errno::LOOP | Errno::XDEV) => Err(refused(path, "has a symbolic link in it")),
            Err(Errno::NOTDIR) => Err(refused(path, "has a parent that is not a folder")),
            Err(Errno::NXIO | Errno::ISDIR) => Err(refused(path, "is not a file")),
            Err(Errno::NAMETOOLONG) => Err(refused(path, "is too long")),
            Err(error) => Err(failed("open the document")(error)),
        }
    }

    /// Refuses a path in a nested repository.
    fn check_repository(&self, path: &str) -> Result<(), Failure> {
        for (end, _) in path.match_indices('/') {
            if fs::symlink_metadata(self.path.join(&path[..end]).join(".git")).is_ok() {
                return Err(refused(path, "is in another repository"));
            }
        }
        Ok(())
    }
}

/// Makes the names in a folder durable.
fn sync(folder: OwnedFd) -> Result<(), Failure> {
    rustix::fs::fsync(folder).map_err(failed("make a folder durable"))
}

fn refused(path: &str, why: &str) -> Failure {
    Failure::new(FailureKind::Refused, format!("`{}` {why}", path.escape_debug()))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    /// The number that a text ends with.
    fn number(text: &[u8]) -> Option<usize> {
        str::from_utf8(text).ok()?.strip_prefix("save ")?.parse().ok()
    }

    #[test]
    fn the_last_save_wins_over_any_number_of_exchanges() {
        let root = tempfile::tempdir().unwrap();
        let aside = tempfile::tempdir().unwrap();
        let (document, prepared) = (root.path().join("a.md"), aside.path().join("prepared"));
        fs::write(&document, "save 0").unwrap();
        let folder = Folder::open(root.path()).unwrap();
        let outdated =
            DocumentSnapshot { bytes: b"long ago".into(), mode: 0o644, modified: SystemTime::UNIX_EPOCH };
        let is_done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for save in 1..=2_000 {
                    let temporary = aside.path().join("editor");
                    fs::write(&temporary, format!("save {save}")).unwrap();
                    fs::rename(&temporary, &document).unwrap();
                }
                is_done.store(true, Ordering::Relaxed);
            });
            while !is_done.load(Ordering::Relaxed) {
                fs::write(&prepared, "ours").unwrap();
                let swapped = folder.swap("a.md", &prepared, false, Some(&outdated)).unwrap();
                assert_eq!(swapped, ExchangeResult::Raced);
                let (left, now) = (fs::read(&prepared).unwrap(), fs::read(&document).unwrap());
                assert!(number(&left) < number(&now), "{left:?} was put aside for {now:?}");
            }
        });
        assert_eq!(fs::read(&document).unwrap(), b"save 2000");
    }
}
