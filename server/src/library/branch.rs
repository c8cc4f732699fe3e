//! Moving the branch, which is the commit point, and the logs that git keeps of it.
//!
//! HEAD is locked too, so that nobody switches the branch away meanwhile, as git itself does it.

use std::{
    fs::{self, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use gix::ObjectId;
use tabellion_schemas::{Failure, Setback};

use super::{
    durable::Thing,
    lock::{GitLock, LockFiles},
    repository::Repository,
    trouble::At,
};

/// Longer than any line of a log that we write.
const LAST_LINE_BYTES: u64 = 8192;

/// The right to move a branch, taken only while it was where it was expected.
pub(super) struct BranchMove {
    lock: GitLock,
}

/// Where the locks for moving `branch` are: HEAD's first.
pub(super) fn locks(repository: &Repository, branch: &str) -> [LockFiles; 2] {
    [
        LockFiles {
            target: repository.git_dir().join("HEAD"),
            marker: repository.own("head.new"),
        },
        LockFiles {
            target: repository.common_dir().join(branch),
            marker: repository.own("branch.new"),
        },
    ]
}

impl BranchMove {
    /// Locks HEAD and `branch`, and writes `next` into the branch's lock.
    ///
    /// # Errors
    /// [`Setback::Moved`] when HEAD is no longer at `branch`, or the branch no longer at `base`.
    pub(super) fn prepare(
        repository: &Repository,
        branch: &str,
        base: Option<ObjectId>,
        next: ObjectId,
    ) -> Result<Self, Setback> {
        let [head, files] = locks(repository, branch);
        let folder = files.target.parent().expect("a branch is in a folder").to_owned();
        head.acquire()?;
        fs::create_dir_all(&folder).at("create", &folder)?;
        let mut lock = files.acquire()?;
        let now = repository.head(&repository.git())?;
        if now.branch != branch || now.commit != base {
            return Err(Setback::Moved);
        }
        lock.write(format!("{next}\n").as_bytes())?;
        Ok(Self { lock })
    }

    /// What must be durable before [`commit`].
    pub(super) fn content(&self) -> Thing<'_> {
        self.lock.content()
    }
}

/// Moves the branch: the commit point.
pub(super) fn commit(repository: &Repository, branch: &str) -> Result<(), Failure> {
    let [_, files] = locks(repository, branch);
    // A folder can be left over from branches that were in it.
    if files.target.is_dir() {
        fs::remove_dir(&files.target).at("replace", &files.target)?;
    }
    files.publish()
}

/// Adds the move to the logs of HEAD and `branch`, unless it is their last line already.
///
/// # Errors
/// When a log can't be written; it is then as it was.
pub(super) fn log(
    repository: &Repository,
    branch: &str,
    base: Option<ObjectId>,
    next: ObjectId,
    line: &str,
) -> Result<(), Failure> {
    let base = base.unwrap_or_else(|| ObjectId::null(next.kind()));
    let line = format!("{base} {next} {line}\n");
    for log in [
        repository.git_dir().join("logs/HEAD"),
        repository.common_dir().join("logs").join(branch),
    ] {
        if repository.keeps_logs() || log.exists() {
            append_once(&log, &line).at("write", &log)?;
        }
    }
    Ok(())
}

fn append_once(log: &Path, line: &str) -> io::Result<()> {
    if let Some(folder) = log.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut file = OpenOptions::new()
        .read(true)
        .append(true)
        .create(true)
        .open(log)?;
    let length = file.metadata()?.len();
    let mut last = Vec::new();
    file.seek(SeekFrom::Start(length.saturating_sub(LAST_LINE_BYTES)))?;
    file.read_to_end(&mut last)?;
    if last.ends_with(line.as_bytes()) {
        return Ok(());
    }
    file.write_all(line.as_bytes()).inspect_err(|_| {
        // Best effort: a torn line is worse than none, and the error is reported either way.
        let _ = file.set_len(length);
    })
}

/// The folder whose names tell where the branch is.
pub(super) fn folder(repository: &Repository, branch: &str) -> PathBuf {
    let file = repository.common_dir().join(branch);
    file.parent().expect("a branch is in a folder").to_owned()
}
