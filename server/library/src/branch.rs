//! Moves the branch, which is the commit point, and writes git's reflogs.
//!
//! HEAD is locked too, as git does: no other process switches the branch meanwhile.

use std::{
    fs::{self, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use gix::ObjectId;
use tabellion_platform::{Dir, OpenError, create_folders, open_to_write, read_text};
use tabellion_runtime::{Failure, StoreError};

use super::{
    durable::{SyncTarget, remove_if_there, sync_all},
    failures::{IoContext, refused},
    intent::Logged,
    lock::{GitLock, LockFiles},
    repository::Repository,
};

/// The right to move a branch. It can be taken only while the branch is at its expected commit.
pub(super) struct BranchMove {
    lock: GitLock,
}

/// Returns the locks for moving `branch`, HEAD's first.
pub(super) fn locks(repository: &Repository, branch: &str) -> [LockFiles; 2] {
    [
        LockFiles { target: repository.git_dir().join("HEAD"), marker: repository.own("head.new") },
        LockFiles { target: repository.common_dir().join(branch), marker: repository.own("branch.new") },
    ]
}

impl BranchMove {
    /// Writes the branch's new commit to a separate file.
    pub(super) fn prepare(repository: &Repository, branch: &str, next: ObjectId) -> Result<Self, Failure> {
        let [_, files] = locks(repository, branch);
        if is_linked(repository.common_dir(), branch)? {
            let message = format!(
                "`{}` is reached through a symbolic link; replace the link by the folder or file that it leads to",
                files.target.display()
            );
            return Err(refused(message));
        }
        let folder = files.target.parent().expect("a branch is in a folder").to_owned();
        create_folders(&folder, branch.matches('/').count()).context("create", &folder)?;
        let mut lock = files.prepare()?;
        lock.write(format!("{next}\n").as_bytes())?;
        Ok(Self { lock })
    }

    /// Returns the content that must be durable before [`commit`].
    pub(super) fn content(&self) -> SyncTarget<'_> {
        self.lock.content()
    }

    /// Locks HEAD and `branch`.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] if HEAD is no longer at `branch`, or the branch no longer at `base`.
    pub(super) fn lock(
        &self,
        repository: &Repository,
        branch: &str,
        base: Option<ObjectId>,
    ) -> Result<(), StoreError> {
        let [head, _] = locks(repository, branch);
        head.acquire()?;
        self.lock.take()?;
        let now = repository.head(&repository.git())?;
        if now.branch != branch || now.commit != base {
            return Err(StoreError::Conflict);
        }
        Ok(())
    }
}

/// Moves the branch back from `next` to `base`, if it is at `next`: after a power failure that lost objects of `next`.
pub(super) fn move_back(
    repository: &Repository,
    branch: &str,
    base: Option<ObjectId>,
    next: ObjectId,
) -> Result<(), Failure> {
    let [_, files] = locks(repository, branch);
    let at = read_text(&files.target).unwrap_or_default();
    if ObjectId::from_hex(at.trim_end().as_bytes()).ok() != Some(next) {
        return Ok(());
    }
    let Some(base) = base else {
        return remove_if_there(&files.target);
    };
    let mut lock = files.clone().acquire()?;
    lock.write(format!("{base}\n").as_bytes())?;
    sync_all(&[lock.content()])?;
    files.publish()
}

/// Moves the branch: the commit point.
pub(super) fn commit(repository: &Repository, branch: &str) -> Result<(), Failure> {
    let [_, files] = locks(repository, branch);
    // An empty folder may be left over from branches below it.
    if files.target.is_dir() {
        fs::remove_dir(&files.target).context("replace", &files.target)?;
    }
    files.publish()
}

/// Returns true if a symbolic link is on the way from the folder `top` to `name`. A packed repository can bring such links, and no file
/// outside of git's own folders is written.
fn is_linked(top: &Path, name: &str) -> Result<bool, Failure> {
    let opened = Dir::open(top).context("open", top)?.open_file(name);
    Ok(matches!(opened, Err(OpenError::Symlink)))
}

/// Appends the commits to the reflogs of HEAD and `branch`, which was at `base`, unless they are there already, or are reached through a
/// link.
///
/// # Errors
/// If a reflog can't be written; it is then unchanged.
pub(super) fn log(
    repository: &Repository,
    branch: &str,
    base: Option<ObjectId>,
    commits: &[Logged],
) -> Result<(), Failure> {
    let mut before = base.unwrap_or_else(|| ObjectId::null(gix::hash::Kind::Sha1));
    let mut lines = String::new();
    for Logged { commit, line } in commits {
        lines.push_str(&format!("{before} {commit} {line}\n"));
        before = *commit;
    }
    for (folder, name) in [(repository.git_dir(), "HEAD"), (repository.common_dir(), branch)] {
        let log = folder.join("logs").join(name);
        if (repository.keeps_logs() || log.exists()) && !is_linked(folder, &format!("logs/{name}"))? {
            append_once(&log, 1 + name.matches('/').count(), &lines).context("write", &log)?;
        }
    }
    Ok(())
}

fn append_once(log: &Path, levels: usize, lines: &str) -> io::Result<()> {
    if let Some(folder) = log.parent() {
        create_folders(folder, levels)?;
    }
    let mut file = open_to_write(log, OpenOptions::new().read(true).append(true).create(true))?;
    let length = file.metadata()?.len();
    let mut last = Vec::new();
    file.seek(SeekFrom::Start(length.saturating_sub(lines.len() as u64)))?;
    file.read_to_end(&mut last)?;
    if last == lines.as_bytes() {
        return Ok(());
    }
    file.write_all(lines.as_bytes()).inspect_err(|_| {
        // Best effort: a torn line is worse than none, and the error is reported either way.
        let _ = file.set_len(length);
    })
}

/// Shares the branch, its reflogs, and the folders created for them.
pub(super) fn share(repository: &Repository, branch: &str) {
    let (own, common) = (repository.git_dir(), repository.common_dir());
    for (top, name) in [(common, branch), (common, &format!("logs/{branch}")), (own, "logs/HEAD")] {
        if is_linked(top, name).is_ok_and(|linked| !linked) {
            let file = top.join(name);
            file.ancestors().take_while(|path| *path != top).for_each(|path| repository.share(path));
        }
    }
}

/// Returns the folder with the branch's file.
pub(super) fn folder(repository: &Repository, branch: &str) -> PathBuf {
    let file = repository.common_dir().join(branch);
    file.parent().expect("a branch is in a folder").to_owned()
}
