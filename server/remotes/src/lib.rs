//! Fetches from and pushes to one branch of a git remote.
//!
//! The `git` program speaks to the remote, because it knows every transport and the user's credentials, proxies and certificates. It runs
//! in a repository of our own that has no objects: the library lends its objects through the environment. So the library's configuration,
//! which its sender may have written, can't run programs or redirect addresses; the user's and the system's apply. No program prompts,
//! each has a deadline, and its output is cut and masked.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests open what they have made"))]

mod address;
mod program;

use std::{
    ffi::OsString,
    fs, io,
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use tabellion_platform::{create, create_folders, names, read_text, rename};

pub use self::address::{Address, AddressError};
use self::program::{Ended, Git};
pub use self::program::{Lent, Trouble, Unreachable};

/// Minimum deadline of a fetch if no commit of the branch is known.
const FIRST_FETCH: Duration = Duration::from_secs(30 * 60);
/// The commit of the branch that the library took or pushed last; a fetch need not transfer it.
const KNOWN: &str = "refs/known";
/// The entries of our own repository.
const FILES: [&str; 5] = ["HEAD", "config", "objects", "refs", "trouble.json"];
/// Infix in the name of a file that is being written, before the numbers of the process and of the write.
const UNFINISHED: &str = ".new-";
/// Git's message about a reference of ours whose object is missing.
const BAD_REFERENCE: &str = "bad object refs/";
/// References of fetches under way, one each: an orphaned git program holds only its own.
const FETCHED: &str = "refs/fetched";
/// Age from which files left by a killed process are removed.
const LEFT: Duration = Duration::from_secs(60 * 60);

/// One branch of a remote.
#[derive(Debug)]
pub struct Remote {
    git: Git,
    address: Address,
    branch: String,
    fetches: AtomicU64,
}

/// The answer to a push.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pushed {
    /// The branch is at the pushed commit.
    Accepted,
    /// The remote refused: the branch is at a different commit, or the change is not allowed.
    Rejected(String),
    /// No answer came. The push may have been accepted, or may still be.
    Silent(Unreachable),
}

impl Remote {
    /// Returns the branch with the full name `branch` at `address`. Writes our own repository anew, regardless of its state.
    ///
    /// # Errors
    /// If it can't be written.
    pub fn open(lent: &Lent, address: Address, branch: String) -> io::Result<Self> {
        let folder = &lent.folder;
        // A `commondir`, for instance, would bring a configuration that is not ours.
        let is_ours = |name: &str| {
            let mut rests = FILES.iter().filter_map(|file| name.strip_prefix(file));
            // Some are being written by another process.
            rests.any(|rest| rest.is_empty() || rest.starts_with(UNFINISHED))
        };
        let is_known = |name: &OsString| name.to_str().is_some_and(is_ours);
        if names(folder).is_ok_and(|names| !names.iter().all(is_known)) {
            fs::remove_dir_all(folder)?;
        }
        remove_left(folder, |name| name.contains(UNFINISHED));
        remove_left(&folder.join(FETCHED), |_| true);
        for below in ["objects", FETCHED] {
            create_folders(&folder.join(below), 4)?;
        }
        write(folder, "HEAD", "ref: refs/heads/none\n")?;
        write(folder, "config", &configuration(&address))?;
        Ok(Self { git: Git::new(lent), address, branch, fetches: AtomicU64::new(0) })
    }

    /// Returns the commit of the remote's branch that was last [remembered](Self::remember); `None` if none was.
    pub fn known_commit(&self) -> Option<String> {
        let text = read_text(&self.git.folder().join(KNOWN)).ok()?;
        Some(text.trim_end().to_owned()).filter(|id| !id.is_empty())
    }

    /// Moves the branch from `base` (`None`: it must not exist) to `commit`, or leaves it.
    pub fn push(&self, commit: &str, base: Option<&str>, deadline: Duration) -> Pushed {
        match self.push_once(commit, base, deadline) {
            Pushed::Silent(unreachable) if self.forgets(&unreachable) => {
                self.push_once(commit, base, deadline)
            }
            pushed => pushed,
        }
    }

    fn push_once(&self, commit: &str, base: Option<&str>, deadline: Duration) -> Pushed {
        let branch = &self.branch;
        let lease = format!("--force-with-lease={branch}:{}", base.unwrap_or_default());
        let what = format!("{commit}:{branch}");
        let options = ["push", "--porcelain", "--atomic", "--no-verify", "--no-signed", "--no-follow-tags"];
        let arguments =
            [&options[..], &["--recurse-submodules=no", &lease, "--", self.address.as_str(), &what]];
        match self.git.run(&arguments.concat(), deadline) {
            Ended::Well(_) => Pushed::Accepted,
            Ended::Badly { printed, words, .. } => {
                let said = printed.lines().find(|line| line.starts_with('!'));
                match said {
                    Some(line) => {
                        let line = line.rsplit('\t').next().unwrap_or(line);
                        let remote = program::of_remote(&words);
                        let words = [line, &remote].join(" ");
                        Pushed::Rejected(program::masked(words.trim_end()))
                    }
                    None => Pushed::Silent(program::unreachable(&words)),
                }
            }
            Ended::Not(unreachable) => Pushed::Silent(unreachable),
        }
    }

    /// Fetches the branch; returns its commit, whose objects are then in the library, or `None` if there is no such branch.
    ///
    /// # Errors
    /// [`Unreachable`].
    pub fn fetch(&self, deadline: Duration) -> Result<Option<String>, Unreachable> {
        match self.fetch_once(deadline) {
            Err(unreachable) if self.forgets(&unreachable) => self.fetch_once(deadline),
            fetched => fetched,
        }
    }

    /// Removes our references if one of them is the trouble: it names a commit that the library no longer has, or was left by a killed
    /// process. Without them, a fetch transfers more. Returns true if a retry is worthwhile.
    fn forgets(&self, unreachable: &Unreachable) -> bool {
        let folder = self.git.folder();
        let forget = || {
            fs::remove_dir_all(folder.join("refs"))?;
            create_folders(&folder.join(FETCHED), 4)
        };
        unreachable.words.contains(BAD_REFERENCE) && forget().is_ok()
    }

    fn fetch_once(&self, deadline: Duration) -> Result<Option<String>, Unreachable> {
        let number = self.fetches.fetch_add(1, Ordering::Relaxed);
        let reference = format!("{FETCHED}/{}-{number}", std::process::id());
        let what = format!("+{}:{reference}", self.branch);
        let options = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance"];
        let arguments =
            [&options[..], &["--refmap=", "--no-recurse-submodules", "--", self.address.as_str(), &what]];
        let deadline = if self.known_commit().is_none() { deadline.max(FIRST_FETCH) } else { deadline };
        let ended = self.git.run(&arguments.concat(), deadline);
        let file = self.git.folder().join(&reference);
        let tip = read_text(&file).map(|text| text.trim_end().to_owned());
        // It may be absent; `open` removes old ones of killed processes.
        let _ = fs::remove_file(&file);
        match (ended, tip) {
            (Ended::Well(_), Ok(tip)) => Ok(Some(tip)),
            (Ended::Not(unreachable), _) => Err(unreachable),
            (Ended::Badly { words, .. }, _) if words.contains("couldn't find remote ref") => {
                self.exists(deadline)
            }
            (Ended::Badly { words, .. } | Ended::Well(words), _) => Err(program::unreachable(&words)),
        }
    }

    /// Checks if the branch exists, without fetching its objects.
    fn exists(&self, deadline: Duration) -> Result<Option<String>, Unreachable> {
        let arguments = ["ls-remote", "--quiet", "--exit-code", "--", self.address.as_str(), &self.branch];
        match self.git.run(&arguments, deadline) {
            Ended::Badly { code: Some(2), .. } => Ok(None),
            Ended::Badly { words, .. } => Err(program::unreachable(&words)),
            Ended::Not(unreachable) => Err(unreachable),
            Ended::Well(_) => Err(program::unreachable("the branch came while it was fetched")),
        }
    }

    /// Returns the names of the remote's branches.
    ///
    /// # Errors
    /// [`Unreachable`].
    pub fn branches(&self, deadline: Duration) -> Result<Vec<String>, Unreachable> {
        let arguments = ["ls-remote", "--quiet", "--heads", "--", self.address.as_str()];
        let names = |printed: String| {
            let names = printed.lines().filter_map(|line| line.split_once("\trefs/heads/"));
            names.map(|(_, name)| name.to_owned()).collect()
        };
        match self.git.run(&arguments, deadline) {
            Ended::Well(printed) => Ok(names(printed)),
            Ended::Badly { words, .. } => Err(program::unreachable(&words)),
            Ended::Not(unreachable) => Err(unreachable),
        }
    }

    /// Forgets the [known commit](Self::known_commit), as if the library had nothing of the branch.
    pub fn forget(&self) {
        let _ = fs::remove_file(self.git.folder().join(KNOWN));
    }

    /// Remembers that the library has this commit of the branch, so a fetch need not transfer it.
    pub fn remember(&self, commit: &str) {
        if let Err(error) = write(self.git.folder(), KNOWN, &format!("{commit}\n")) {
            tracing::debug!(%error, "the remote's commit can't be remembered");
        }
    }
}

/// Returns the configuration of our own repository.
fn configuration(address: &Address) -> String {
    let mut text = String::from(
        "[core]\n\trepositoryformatversion = 0\n\tbare = true\n\thooksPath = /dev/null\n\tfsmonitor = false\n\tfsync = all\n\
         [transfer]\n\tfsckObjects = true\n\
         [gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n\
         [push]\n\tgpgSign = false\n\
         [fetch]\n\twriteCommitGraph = false\n\
         [protocol]\n\tallow = never\n",
    );
    for transport in address.transports() {
        text.push_str(&format!("[protocol \"{transport}\"]\n\tallow = always\n"));
    }
    text
}

/// Writes a small file in one step, unless it has these bytes. The unfinished one is not below `refs`, where git would take it for a
/// reference.
fn write(folder: &Path, name: &str, text: &str) -> io::Result<()> {
    let path = folder.join(name);
    if read_text(&path).is_ok_and(|found| found == text) {
        return Ok(());
    }
    create_folders(&folder.join(FETCHED), 4)?;
    static WRITTEN: AtomicU64 = AtomicU64::new(0);
    let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
    let new = folder.join(format!("{}{UNFINISHED}{}-{number}", FILES[0], std::process::id()));
    io::Write::write_all(&mut create(&new)?, text.as_bytes())?;
    rename(&new, &path)
}

/// Removes old files that a killed process has left. Best effort: they do no harm.
fn remove_left(folder: &Path, is_left: impl Fn(&str) -> bool) {
    for name in names(folder).unwrap_or_default() {
        let path = folder.join(&name);
        let age = fs::symlink_metadata(&path).and_then(|found| found.modified());
        let is_old = age.is_ok_and(|age| age.elapsed().is_ok_and(|age| age > LEFT));
        if is_old && name.to_str().is_some_and(&is_left) {
            let _ = fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests;
