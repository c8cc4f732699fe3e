//! Reads a server's data from the disk: the content of a library from its files and git, and rows from a database.

pub(crate) mod database;
mod export;
pub mod replay;
pub mod rows;
mod source;
mod sqlite;
mod wal;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, OpenOptions},
    io::{self, Read},
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::{Duration, Instant},
};

use rustix::fs::OFlags;

use crate::own::Own;

pub use self::{source::Source, sqlite::Queries};

/// Maximum time to wait for an index that another git process has locked.
const INDEX_LOCK_TIMEOUT: Duration = Duration::from_secs(3);
/// Maximum time to wait for the end of git's maintenance.
const MAINTENANCE_TIMEOUT: Duration = Duration::from_secs(60);
const RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// Mode and bytes of files, by path. A symbolic link has its target as bytes; a pipe, socket or device has no bytes.
pub type Files = BTreeMap<PathBuf, (u32, Vec<u8>)>;

/// Files, history and git status of a library. Equal ledgers mean an unchanged library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ledger {
    /// Every file below the root, except in `.git`.
    pub files: Files,
    /// Every folder below the root, including empty ones.
    pub folders: BTreeSet<PathBuf>,
    /// Commits reachable from HEAD, newest first; empty in a repository without commits.
    pub commits: Vec<String>,
    /// Output of `git status`: a line for each path that differs from HEAD.
    pub status: String,
    /// Content of the index: mode, blob, stage and path.
    pub index: String,
}

impl Ledger {
    /// Reads the library at `root`.
    pub fn read(root: &Path) -> io::Result<Self> {
        Self::read_except(root, &Own::default())
    }

    /// Reads the library at `root` without the server's own state.
    pub fn read_except(root: &Path, own: &Own) -> io::Result<Self> {
        let (files, folders) = files_and_folders(root, own)?;
        Ok(Self {
            files,
            folders,
            commits: git(root, &["rev-list", "--ignore-missing", "HEAD", "--"])?
                .lines()
                .map(String::from)
                .collect(),
            status: git(
                root,
                &own.except(&["status", "--porcelain=v2", "--untracked-files=all", "--no-renames"]),
            )?,
            index: git(root, &own.except(&["ls-files", "--stage"]))?,
        })
    }

    /// Returns the paths whose bytes or mode differ from `earlier`, including those that exist in only one of the two.
    pub fn changed_since(&self, earlier: &Self) -> Vec<PathBuf> {
        let all = self.files.keys().chain(earlier.files.keys());
        let mut changed: Vec<_> =
            all.filter(|path| self.files.get(*path) != earlier.files.get(*path)).cloned().collect();
        changed.sort();
        changed.dedup();
        changed
    }

    /// Returns the folders that were created or removed since `earlier`.
    pub fn folders_since(&self, earlier: &Self) -> Vec<PathBuf> {
        self.folders.symmetric_difference(&earlier.folders).cloned().collect()
    }

    /// Returns the commits made since `earlier`, newest first.
    pub fn commits_since(&self, earlier: &Self) -> Vec<String> {
        self.commits.iter().filter(|commit| !earlier.commits.contains(commit)).cloned().collect()
    }
}

/// Runs git in `root` without the user's and the system's configuration; returns its output. Waits if another process
/// has locked the index.
///
/// # Errors
/// If git cannot be run or fails; the message contains its output.
pub fn git(root: &Path, arguments: &[&str]) -> io::Result<String> {
    let since = Instant::now();
    git_while(root, arguments, || {
        thread::sleep(RETRY_INTERVAL);
        since.elapsed() <= INDEX_LOCK_TIMEOUT
    })
}

/// As [`git`]. While the index is locked, `wait` waits and returns whether to try again.
fn git_while(root: &Path, arguments: &[&str], mut wait: impl FnMut() -> bool) -> io::Result<String> {
    let mut command = Command::new("git");
    command
        .arg("-C")
        .arg(root)
        .args([
            "-c",
            "core.quotePath=false",
            "-c",
            "gc.auto=0",
            "-c",
            "user.name=A Person",
            "-c",
            "user.email=person@localhost",
            // A server may run as another user, who then owns the library.
            "-c",
            "safe.directory=*",
        ])
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_OPTIONAL_LOCKS", "0");
    loop {
        let output = command.output()?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        // `git fsck` reports missing objects on standard output.
        let message = [output.stderr, output.stdout].concat();
        let message = String::from_utf8_lossy(&message);
        if !message.contains("index.lock") || !wait() {
            let (command, message) = (arguments.join(" "), message.trim());
            return Err(io::Error::other(format!("git {command}: {message}")));
        }
    }
}

/// Runs `git fsck --strict`. Git's maintenance, which a server may have started, can remove files that were just listed: after a
/// failure, waits for the maintenance to end and checks again.
///
/// # Errors
/// If `git fsck` reports damage; the message contains its output.
pub fn fsck(root: &Path) -> io::Result<()> {
    let since = Instant::now();
    fsck_while(root, || {
        thread::sleep(RETRY_INTERVAL);
        since.elapsed() < MAINTENANCE_TIMEOUT
    })
}

/// As [`fsck`]. While maintenance runs, `wait` waits and returns whether to go on waiting.
fn fsck_while(root: &Path, mut wait: impl FnMut() -> bool) -> io::Result<()> {
    let run = || git(root, &["fsck", "--strict", "--no-dangling", "--no-progress"]).map(drop);
    run().or_else(|_| {
        // `git maintenance` has the first, and `git gc` the second.
        let locks = ["--git-path", "objects/maintenance.lock", "--git-path", "gc.pid"];
        let locks = git(root, &[&["rev-parse"][..], &locks].concat())?;
        let is_running = || locks.lines().any(|lock| root.join(lock).exists());
        while is_running() && wait() {}
        run()
    })
}

/// Returns the bytes of the file at `path`; `None` if it is not a regular file. Never blocks, not even on a pipe.
pub fn bytes(path: &Path) -> Option<Vec<u8>> {
    let mut options = OpenOptions::new();
    let nonblocking = i32::try_from(OFlags::NONBLOCK.bits()).ok()?;
    let mut file = options.read(true).custom_flags(nonblocking).open(path).ok()?;
    let mut bytes = Vec::new();
    file.metadata().ok().filter(fs::Metadata::is_file)?;
    file.read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Returns every file below `root`, except in `.git`.
pub fn files(root: &Path) -> io::Result<Files> {
    Ok(files_and_folders(root, &Own::default())?.0)
}

/// Returns every file and every folder below `root`, except in `.git` and the server's own.
pub fn files_and_folders(root: &Path, own: &Own) -> io::Result<(Files, BTreeSet<PathBuf>)> {
    let (mut files, mut folders) = (Files::new(), BTreeSet::new());
    collect(root, root, own, &mut files, &mut folders)?;
    Ok((files, folders))
}

fn collect(
    root: &Path,
    dir: &Path,
    own: &Own,
    files: &mut Files,
    folders: &mut BTreeSet<PathBuf>,
) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        let name = path.strip_prefix(root).map_err(io::Error::other)?.to_path_buf();
        if name == Path::new(".git") || own.covers(&name) {
            continue;
        }
        let metadata = fs::symlink_metadata(&path)?;
        if metadata.is_dir() {
            folders.insert(name);
            collect(root, &path, own, files, folders)?;
        } else if metadata.is_symlink() {
            files.insert(
                name,
                (metadata.permissions().mode(), fs::read_link(&path)?.into_os_string().into_encoded_bytes()),
            );
        } else if metadata.is_file() {
            files.insert(name, (metadata.permissions().mode(), fs::read(&path)?));
        } else {
            files.insert(name, (metadata.permissions().mode(), vec![]));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_folder_is_reported() {
        let dir = tempfile::tempdir().unwrap();
        git(dir.path(), &["init", "--quiet"]).unwrap();
        fs::create_dir(dir.path().join("notes")).unwrap();
        let before = Ledger::read(dir.path()).unwrap();
        fs::create_dir_all(dir.path().join("notes/empty")).unwrap();
        let after = Ledger::read(dir.path()).unwrap();
        assert_eq!(after.folders_since(&before), [Path::new("notes/empty")]);
        assert_eq!(before.folders_since(&after), [Path::new("notes/empty")]);
        assert_eq!(after.changed_since(&before), Vec::<PathBuf>::new());
    }

    #[test]
    fn a_server_s_own_state_is_disregarded() {
        let dir = tempfile::tempdir().unwrap();
        let own = Own::parse([".state/**"]).unwrap();
        git(dir.path(), &["init", "--quiet"]).unwrap();
        fs::write(dir.path().join("a.md"), "a").unwrap();
        let read = || Ledger::read_except(dir.path(), &own).unwrap();
        let before = read();
        fs::create_dir_all(dir.path().join(".state/deep")).unwrap();
        fs::write(dir.path().join(".state/deep/journal"), "x").unwrap();
        assert_eq!(read(), before);
        git(dir.path(), &["add", ".state"]).unwrap();
        assert_eq!(read(), before);
        assert_ne!(Ledger::read(dir.path()).unwrap(), before);
        fs::write(dir.path().join("b.md"), "b").unwrap();
        assert_ne!(read(), before);
    }

    #[test]
    fn git_waits_for_an_index_that_another_git_has_locked() {
        let dir = tempfile::tempdir().unwrap();
        git(dir.path(), &["init", "--quiet"]).unwrap();
        let lock = dir.path().join(".git/index.lock");
        fs::write(&lock, "").unwrap();
        let add = |wait: &mut dyn FnMut() -> bool| git_while(dir.path(), &["add", "--all"], wait);
        let error = add(&mut || false).unwrap_err().to_string();
        assert!(error.contains("index.lock"), "{error}");
        let mut waits = 0;
        let unlock = &mut || {
            waits += 1;
            waits < 2 || fs::remove_file(&lock).is_ok()
        };
        add(unlock).unwrap();
        assert_eq!(waits, 2);
    }

    #[test]
    fn objects_are_looked_for_again_after_gits_maintenance() {
        let dir = tempfile::tempdir().unwrap();
        let git = |arguments: &[&str]| git(dir.path(), arguments).unwrap();
        git(&["init", "--quiet"]);
        git(&["commit", "--quiet", "--allow-empty", "-m", "first"]);
        let tree = git(&["rev-parse", "HEAD^{tree}"]);
        let object = dir.path().join(".git/objects").join(&tree[..2]).join(tree[2..].trim());
        let aside = dir.path().join("aside");
        fs::rename(&object, &aside).unwrap();
        let error = fsck(dir.path()).unwrap_err().to_string();
        assert!(error.contains(tree.trim()), "{error}");
        for lock in ["objects/maintenance.lock", "gc.pid"] {
            let lock = dir.path().join(".git").join(lock);
            fs::write(&lock, "").unwrap();
            let end = || {
                fs::rename(&aside, &object).unwrap();
                fs::remove_file(&lock).is_ok()
            };
            fsck_while(dir.path(), end).unwrap();
            fs::rename(&object, &aside).unwrap();
        }
    }

    #[test]
    fn a_pipe_without_a_writer_has_no_bytes() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe.md");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR).unwrap();
        assert_eq!(bytes(&pipe), None);
        fs::write(dir.path().join("a.md"), "a").unwrap();
        assert_eq!(bytes(&dir.path().join("a.md")), Some(b"a".to_vec()));
        assert_eq!(bytes(&dir.path().join("none.md")), None);
    }
}
