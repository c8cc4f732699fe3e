//! The lock, and the journal of the change in progress.
//!
//! A journal that exists while the lock is free belongs to an interrupted change. Recovery completes the change if its
//! commit is on the branch, else undoes it. It keeps a person's edits of the document.

use std::{
    fs::{self, File},
    io::{self, Write},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process, thread,
    time::{Duration, Instant},
};

use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};
use tabellion_runtime::{Failure, FailureKind};

use super::{
    failed,
    git::id_of,
    library::Library,
    mutant::{Mutant, is},
};

/// Timeout for git's locks held by another process.
const GIT_LOCK_TIMEOUT: Duration = Duration::from_secs(5);
/// Prefix of a file set aside after an exchange; its expected content id follows.
const ASIDE: &str = "aside-";

/// Mode and blob of a document in git.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) mode: String,
    pub(super) blob: String,
}

/// Journal of a change in progress.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Journal {
    pub(super) branch: String,
    pub(super) commit: String,
    pub(super) path: String,
    /// True if the document itself changes; false if only its entry in git does.
    pub(super) exchanges: bool,
    /// Entry of the document before the change.
    pub(super) before: Option<Entry>,
    /// Mode of the document.
    pub(super) mode: Option<u32>,
    /// Entry of the document in the commit.
    pub(super) entry: Option<Entry>,
    /// Folders to create for it.
    pub(super) folders: Vec<String>,
}

/// The lock among processes, released when dropped.
pub(super) struct Lock {
    _file: Option<File>,
}

/// One of git's own locks, held by this process.
pub(super) struct GitLock(PathBuf);

/// A temporary folder for prepared files.
#[derive(Debug)]
pub(super) struct Scratch(PathBuf);

impl Library {
    /// Takes the lock, then recovers an interrupted change.
    pub(super) fn lock(&self) -> Result<Lock, Failure> {
        fs::create_dir_all(&self.own).map_err(failed("create the server's folder in .git"))?;
        let file = File::options().create(true).append(true).open(self.own.join("lock"));
        let file = file.map_err(failed("open the lock"))?;
        if is(Mutant::TwoProcessRace) {
            return Ok(Lock { _file: None });
        }
        rustix::fs::flock(&file, FlockOperation::LockExclusive).map_err(failed("take the lock"))?;
        let lock = Lock { _file: Some(file) };
        self.recover()?;
        for entry in fs::read_dir(&self.own).map_err(failed("read the server's folder in .git"))?.flatten() {
            if entry.path().is_dir() && self.postponed.borrow().is_none() {
                // A git process that outlived its server may still use the folder.
                let _ = fs::remove_dir_all(entry.path());
            }
        }
        Ok(lock)
    }

    /// Recovers an interrupted change; waits for one in progress.
    pub(super) fn settle(&self) -> Result<(), Failure> {
        if self.journal().exists() { self.lock().map(drop) } else { Ok(()) }
    }

    /// Completes or undoes the change in the journal. Requires the lock.
    pub(super) fn recover(&self) -> Result<(), Failure> {
        let Ok(text) = fs::read(self.journal()) else {
            return Ok(());
        };
        let Ok(journal) = serde_json::from_slice::<Journal>(&text) else {
            return self.done();
        };
        if is(Mutant::NoRecovery) {
            return self.done();
        }
        for locked in [self.git.dir.join("index"), self.git.common.join(&journal.branch)] {
            self.release(&lock_of(&locked))?;
        }
        let (tip, commit) = (journal.branch.as_str(), journal.commit.as_str());
        let committed = self.git.ask(&["merge-base", "--is-ancestor", commit, tip]).is_some();
        let (entry, scratch) = (self.entry(&journal.path), self.scratch()?);
        if committed {
            if entry == journal.entry && self.staged(&journal.path) == journal.before {
                let lock = self.take(&self.git.dir.join("index"))?;
                self.prepare_index(&scratch, &journal.path, journal.entry.as_ref())?;
                scratch.put("index", &self.git.dir.join("index"))?;
                lock.release()?;
            }
        } else if journal.exchanges && entry == journal.before {
            self.undo(&scratch, &journal)?;
        }
        self.done()
    }

    /// Restores the document, if it still has the change's content.
    fn undo(&self, scratch: &Scratch, journal: &Journal) -> Result<(), Failure> {
        let found = self.folder.read(&journal.path)?;
        let now = found.as_ref().map(|found| id_of(&found.bytes));
        if now == journal.entry.as_ref().map(|entry| entry.blob.clone()) && journal.entry != journal.before {
            if let Some(before) = &journal.before {
                scratch.write("document", &self.git.blob(&before.blob)?)?;
                let mode = std::os::unix::fs::PermissionsExt::from_mode(journal.mode.unwrap_or(0o644));
                fs::set_permissions(scratch.path("document"), mode).map_err(failed("keep the mode"))?;
            }
            let gone = journal.before.is_none();
            self.folder.swap(&journal.path, &scratch.path("document"), gone, found.as_ref())?;
        }
        self.folder.remove_empty(&journal.folders);
        Ok(())
    }

    /// Keeps the replaced file until the next exchange, because an editor that has it open may still write to it. If
    /// its content then differs from `expected`, a person wrote it, and the file stays.
    pub(super) fn lay_aside(&self, scratch: &Scratch, expected: Option<&[u8]>) {
        for entry in fs::read_dir(&self.own).into_iter().flatten().flatten() {
            let (name, path) = (entry.file_name(), entry.path());
            let was = name.to_str().and_then(|name| name.strip_prefix(ASIDE));
            if let (Some(was), Ok(bytes)) = (was, fs::read(&path)) {
                let now = id_of(&bytes);
                // The change does not depend on it; a file that cannot be moved now is moved later.
                let _ = if now == was {
                    fs::remove_file(path)
                } else {
                    fs::rename(path, self.own.join(format!("late-{now}.md")))
                };
            }
        }
        let id = expected.map(id_of).unwrap_or_default();
        let _ = fs::rename(scratch.path("document"), self.own.join(format!("{ASIDE}{id}")));
    }

    /// Writes the journal.
    pub(super) fn announce(&self, scratch: &Scratch, journal: &Journal) -> Result<(), Failure> {
        if is(Mutant::NoRecovery) {
            return Ok(());
        }
        let text = serde_json::to_vec(journal).map_err(failed("write the journal"))?;
        scratch.write("journal", &text)?;
        scratch.put("journal", &self.journal())
    }

    /// Removes the journal.
    pub(super) fn done(&self) -> Result<(), Failure> {
        match fs::remove_file(self.journal()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed("remove the journal")(error)),
            _ => Ok(()),
        }
    }

    pub(super) fn journal(&self) -> PathBuf {
        self.own.join("journal")
    }

    /// Returns HEAD's entry at `path`.
    pub(super) fn entry(&self, path: &str) -> Option<Entry> {
        let path = format!("{}{path}", self.git.prefix);
        let output = self.git.ask(&["ls-tree", "--full-tree", "HEAD", "--", &path])?;
        let mut words = output.split_whitespace();
        Some(Entry { mode: words.next()?.into(), blob: words.nth(1)?.into() })
    }

    /// Returns the index's entry at `path`.
    pub(super) fn staged(&self, path: &str) -> Option<Entry> {
        let output = self.git.ask(&["--literal-pathspecs", "ls-files", "--stage", "--", path])?;
        let mut words = output.split_whitespace();
        Some(Entry { mode: words.next()?.into(), blob: words.next()?.into() })
    }

    /// Takes git's own lock of a file; waits up to [`GIT_LOCK_TIMEOUT`].
    pub(super) fn take(&self, file: &Path) -> Result<GitLock, Failure> {
        let (lock, since) = (lock_of(file), Instant::now());
        let folder = lock.parent().unwrap_or(file);
        fs::create_dir_all(folder).map_err(failed("make a branch's folder"))?;
        if is(Mutant::StealsLocks) {
            // A missing lock needs no removal.
            let _ = fs::remove_file(&lock);
        }
        loop {
            // A hard link to the marker, by which the lock is recognised even after a crash.
            match fs::hard_link(self.marker()?, &lock) {
                Ok(()) => return Ok(GitLock(lock)),
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(failed("take git's lock")(error));
                }
                Err(_) if since.elapsed() > GIT_LOCK_TIMEOUT => {
                    let message = format!("another git holds `{}`; try again later", lock.display());
                    return Err(Failure::new(FailureKind::Busy, message));
                }
                Err(_) => thread::sleep(Duration::from_millis(5)),
            }
        }
    }

    /// Removes one of git's locks, if this server took it.
    fn release(&self, lock: &Path) -> Result<(), Failure> {
        let Ok(held) = fs::symlink_metadata(lock) else {
            return Ok(());
        };
        let ours = fs::symlink_metadata(self.marker()?).map_err(failed("read the marker"))?;
        if (held.dev(), held.ino()) == (ours.dev(), ours.ino()) {
            fs::remove_file(lock).map_err(failed("release git's lock"))?;
        }
        Ok(())
    }

    fn marker(&self) -> Result<PathBuf, Failure> {
        let marker = self.own.join("marker");
        File::options().create(true).append(true).open(&marker).map_err(failed("create the marker"))?;
        Ok(marker)
    }

    pub(super) fn scratch(&self) -> Result<Scratch, Failure> {
        let moment = Instant::now();
        let path =
            self.own.join(format!("{}-{moment:?}", process::id()).replace([' ', '{', '}', ':', ','], ""));
        fs::create_dir(&path).map_err(failed("create a temporary folder"))?;
        Ok(Scratch(path))
    }
}

impl GitLock {
    pub(super) fn release(self) -> Result<(), Failure> {
        fs::remove_file(&self.0).map_err(failed("release git's lock"))
    }
}

impl Scratch {
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Writes a file, durably.
    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> Result<(), Failure> {
        let mut file = File::create(self.path(name)).map_err(failed("prepare a file"))?;
        file.write_all(bytes).map_err(failed("prepare a file"))?;
        file.sync_all().map_err(failed("prepare a file"))
    }

    /// Makes a file durable.
    pub(super) fn sync(&self, name: &str) -> Result<(), Failure> {
        let file = File::open(self.path(name)).map_err(failed("make a file durable"))?;
        file.sync_all().map_err(failed("make a file durable"))
    }

    /// Moves a file to `to`, durably.
    pub(super) fn put(&self, name: &str, to: &Path) -> Result<(), Failure> {
        fs::rename(self.path(name), to).map_err(failed("move a file to its place"))?;
        let folder = File::open(to.parent().unwrap_or(to)).map_err(failed("make a folder durable"))?;
        folder.sync_all().map_err(failed("make a folder durable"))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // The next process that takes the lock tries again.
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn lock_of(file: &Path) -> PathBuf {
    let mut lock = file.as_os_str().to_owned();
    lock.push(".lock");
    lock.into()
}

impl Entry {
    /// Returns git's entry for a document with these bytes and this mode.
    pub(super) fn new(bytes: &[u8], mode: u32) -> Self {
        Self { mode: String::from(if mode & 0o100 == 0 { "100644" } else { "100755" }), blob: id_of(bytes) }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn late_writes_of_an_editor_are_kept() {
        for (expected, late, is_kept) in [
            (Some("before"), None, false),
            (Some("before"), Some("after all"), true),
            (Some("ours"), None, true),
            (None, None, true),
        ] {
            let root = tempfile::tempdir().unwrap();
            let made = Command::new("git").arg("init").arg("-q").arg(root.path()).status();
            assert!(made.unwrap().success());
            let library = Library::open(root.path()).unwrap();
            let _lock = library.lock().unwrap();
            let scratch = library.scratch().unwrap();
            let lay_aside = |text: &str, expected: Option<&str>| {
                scratch.write("document", text.as_bytes()).unwrap();
                let place = File::options().append(true).open(scratch.path("document"));
                library.lay_aside(&scratch, expected.map(str::as_bytes));
                place.unwrap()
            };
            let mut editor = lay_aside("before", expected);
            editor.write_all(late.unwrap_or_default().as_bytes()).unwrap();
            lay_aside("next", Some("next"));
            lay_aside("and next", Some("and next"));
            let files = fs::read_dir(&library.own).unwrap().map(|entry| entry.unwrap().path());
            let texts: Vec<_> = files.filter_map(|path| fs::read_to_string(path).ok()).collect();
            let kept = format!("before{}", late.unwrap_or_default());
            assert_eq!(texts.contains(&kept), is_kept, "{expected:?} {late:?}: {texts:?}");
            assert!(!texts.contains(&"next".to_owned()), "{texts:?}");
        }
    }
}
