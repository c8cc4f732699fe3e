//! Creates the repository of a folder without one: branch `main` with an empty first commit.
//!
//! It is built under a temporary name and renamed, so a crash leaves a whole repository or none. Existing files stay untracked
//! until they are first changed.

use std::{
    fs,
    io::{self, Write as _},
    path::Path,
};

use gix::objs::Tree;
use tabellion_runtime::Failure;

use super::{
    commit::{Authorship, COMMITTER},
    durable::{self, SyncTarget},
    objects::NewObjects,
};
use tabellion_platform::{self as platform, Dir, FileLock};

const ASIDE: &str = ".tabellion-init";
const BRANCH: &str = "refs/heads/main";
const CONFIG: &str = "[core]
\trepositoryformatversion = 0
\tbare = false
\tlogallrefupdates = true
";
/// The name of an empty file, and the same text decomposed, which names it too if the file system ignores composition (macOS).
const COMPOSED: &str = "\u{e4}";
const DECOMPOSED: &str = "a\u{308}";

/// Creates `.git` in `root`; returns false if another process was faster.
pub(super) fn create(root: &Path) -> io::Result<bool> {
    let aside = root.join(ASIDE);
    let is_made = || root.join(".git").symlink_metadata().is_ok();
    let made = fs::create_dir_all(&aside).and_then(|()| open_aside(root));
    let alone = made.and_then(|_| platform::lock_file(&aside.join("lock")));
    let alone = match alone {
        // A faster process removes the temporary folder.
        Err(_) if is_made() => return Ok(false),
        alone => alone?,
    };
    if is_made() {
        return Ok(false);
    }
    let git = aside.join("git");
    if git.exists() {
        fs::remove_dir_all(&git)?;
    }
    build(&git)?;
    let (from, to) = (open_aside(root)?, Dir::open(root)?);
    let is_new = match from.rename_noreplace("git", &to, ".git") {
        Ok(()) => true,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
        Err(error) => return Err(error),
    };
    to.sync()?;
    // A slower process may still use it; then that one, or the next start, removes it.
    remove(&aside, alone);
    Ok(is_new)
}

/// Removes the remains of a crashed [`create`]. Best effort: they are hidden and harmless.
pub(super) fn remove_leftovers(root: &Path) {
    let aside = root.join(ASIDE);
    if open_aside(root).is_ok()
        && let Ok(Some(alone)) = platform::try_lock_file(&aside.join("lock"))
    {
        remove(&aside, alone);
    }
}

/// Opens the temporary folder. The folder may bring a link to elsewhere in its place, which is refused.
fn open_aside(root: &Path) -> io::Result<Dir> {
    Ok(Dir::open(root)?.open_dir(ASIDE)?)
}

/// Removes the temporary folder, which `alone` locks.
fn remove(aside: &Path, alone: FileLock) {
    if fs::remove_dir_all(aside).is_err() {
        // Not every file system of Windows removes an open file at once.
        drop(alone);
        let _ = fs::remove_dir(aside);
    }
}

/// Creates a durable repository in the folder `git`.
fn build(git: &Path) -> io::Result<()> {
    let folders =
        ["info", "objects/info", "objects/pack", "refs/heads", "refs/tags"].map(|folder| git.join(folder));
    for folder in &folders {
        fs::create_dir_all(folder)?;
    }
    let first = first_commit(git).map_err(io::Error::other)?;
    let files =
        [("HEAD", format!("ref: {BRANCH}\n")), ("config", config(git)?), (BRANCH, format!("{first}\n"))];
    for (name, content) in files {
        let path = git.join(name);
        let mut file = platform::create(&path)?;
        file.write_all(content.as_bytes())?;
        file.sync_all()?;
    }
    let above = ["", "objects", "refs"].map(|folder| git.join(folder));
    let names: Vec<_> = folders.iter().chain(&above).map(|folder| SyncTarget::Names(folder)).collect();
    durable::sync_all(&names).map_err(io::Error::other)
}

/// Returns the configuration for the file system of the folder `git`, detected in the same way as by `git init`.
fn config(git: &Path) -> io::Result<String> {
    let mut config = CONFIG.to_owned();
    let mut set = |option: &str, value: bool| config.push_str(&format!("\t{option} = {value}\n"));
    set("filemode", platform::HAS_MODES);
    if git.join("INFO").exists() {
        set("ignorecase", true);
    }
    let composed = git.join(COMPOSED);
    platform::create(&composed)?;
    if git.join(DECOMPOSED).exists() {
        set("precomposeunicode", true);
    }
    fs::remove_file(composed)?;
    Ok(config)
}

/// Writes the empty first commit; returns its id.
fn first_commit(git: &Path) -> Result<gix::ObjectId, Failure> {
    let mut objects = NewObjects::default();
    let tree = objects.add(&Tree::empty())?;
    let by = Authorship::now((COMMITTER.0.to_owned(), COMMITTER.1.to_owned()), None);
    let commit = by.commit(&mut objects, tree, None, "Begin the library\n")?;
    let database = git.join("objects");
    let staged = objects.stage(&database, git)?;
    durable::sync_all(&staged.contents().collect::<Vec<_>>())?;
    staged.place()?;
    let names: Vec<_> = staged.folders(&database).into_iter().map(SyncTarget::Names).collect();
    durable::sync_all(&names)?;
    Ok(commit)
}

#[cfg(test)]
#[path = "tests/init.rs"]
mod tests;
