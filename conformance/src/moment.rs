//! Snapshots of everything that a call without a change must preserve: documents with their timestamps, the library's
//! surroundings, history, index, refs, hooks and configuration.
//!
//! A server may keep files of its own in `.git`, locks included, and git's objects may appear and disappear. Everything else in
//! `.git`, and each lock of such a file, must stay the same.

use std::{
    collections::BTreeMap,
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use crate::{
    judgement::{Cause, Judgement, Shows, Stop, ensure, ensure_none, fail},
    ledger::{self, Files},
    scene::{Scene, View},
};

/// Entries of `.git` that belong to git or the user. The index is compared by its content.
const GITS: [&str; 12] = [
    "HEAD",
    "ORIG_HEAD",
    "FETCH_HEAD",
    "config",
    "config.worktree",
    "packed-refs",
    "shallow",
    "refs",
    "logs",
    "hooks",
    "info",
    "modules",
];

/// Entries of `.git` that record an operation in progress.
const IN_PROGRESS: [&str; 9] = [
    "MERGE_HEAD",
    "MERGE_MSG",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "BISECT_START",
    "BISECT_LOG",
    "rebase-merge",
    "rebase-apply",
    "sequencer",
];

/// Snapshot of a library, its surroundings and its repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moment {
    /// The library and its surroundings.
    pub view: View,
    /// Files in `.git`, except objects, the index and entries unknown to git.
    pub git: Files,
    /// Modification time and inode of each file.
    stamps: BTreeMap<PathBuf, (i64, i64, u64)>,
}

impl Moment {
    /// Takes a snapshot of the current state.
    pub fn capture(scene: &Scene<'_>) -> Result<Self, Stop> {
        let view = scene.view()?;
        let root = scene.library();
        let stamp = |path: &PathBuf| {
            let metadata = fs::symlink_metadata(root.join(path))?;
            let stamp = (metadata.mtime(), metadata.mtime_nsec(), metadata.ino());
            Ok::<_, io::Error>((path.clone(), stamp))
        };
        let stamps = view.library.files.keys().map(stamp).collect::<Result<_, _>>()?;
        let git = read_git_files(&root.join(".git"))?;
        Ok(Self { view, git, stamps })
    }

    /// Fails unless `later` is equal.
    pub fn same(&self, later: &Self) -> Judgement {
        self.same_around(later)?;
        self.view.same_rows(&later.view, "what should change nothing")?;
        self.same_documents(later, &[])?;
        self.view.same_folders(&later.view)?;
        let commits = later.view.library.commits_since(&self.view.library).len();
        ensure(commits == 0, || format!("{commits} commits were made, although nothing should change"))?;
        let (old, new) = (&self.view.library, &later.view.library);
        ensure(old.commits == new.commits, || "the history was rewritten".into())?;
        self.same_in_git(later, |_| true)?;
        ensure(old.index == new.index, || {
            let (old, new) = (&old.index, &new.index);
            format!("the index changed from {old:?} to {new:?}")
        })?;
        ensure(old.status == new.status, || {
            let (old, new) = (&old.status, &new.status);
            format!("`git status` changed from {old:?} to {new:?}")
        })
    }

    /// Fails unless the library's surroundings are equal in `later`.
    pub fn same_around(&self, later: &Self) -> Judgement {
        ensure_none(difference(&self.view.around, &later.view.around), |path| {
            format!("`{path}`, which is outside of the library, changed")
        })
    }

    /// Fails unless the hooks, the configuration and `info` are equal in `later`.
    pub fn same_control(&self, later: &Self) -> Judgement {
        self.same_in_git(later, |path| ["config", "hooks", "info"].iter().any(|it| path.starts_with(it)))
    }

    /// Fails unless the records of operations in progress are equal in `later`, and every lock still exists.
    pub fn same_in_progress(&self, later: &Self) -> Judgement {
        self.same_in_git(later, |path| IN_PROGRESS.iter().any(|it| path.starts_with(it)) || is_lock(path))
    }

    fn same_in_git(&self, later: &Self, is_meant: fn(&Path) -> bool) -> Judgement {
        let meant = |moment: &Self| {
            let mut git = moment.git.clone();
            git.retain(|path, _| is_meant(path));
            git
        };
        match difference(&meant(self), &meant(later)) {
            Some(path) => {
                let has = |moment: &Self| moment.git.contains_key(Path::new(&path));
                let what = match (has(self), has(later)) {
                    (false, _) => "appeared",
                    (_, false) => "disappeared",
                    _ => "changed",
                };
                Err(fail(format!("`.git/{path}` {what}")))
            }
            None => Ok(()),
        }
    }

    /// Fails unless the bytes, modes and timestamps of all documents except `apart` are equal in `later`.
    pub fn same_documents(&self, later: &Self, apart: &[&str]) -> Judgement {
        let is_apart = |path: &Path| apart.iter().any(|it| Path::new(it) == path);
        let changed = later.view.library.changed_since(&self.view.library);
        if let Some(path) = changed.iter().find(|path| !is_apart(path)) {
            let found = |moment: &Self| moment.view.library.files.get(path).cloned();
            let (old, new) = (found(self), found(later));
            let what = match (&old, &new) {
                (None, _) => "appeared",
                (_, None) => "disappeared",
                (Some((old, _)), Some((new, _))) if old != new => "has a different mode",
                _ => "changed",
            };
            let what = format!("`{}` {what}, although it should not change", path.display());
            let failure = fail(what).because(Cause::of_file(path)).shows(Shows::Documents);
            let bytes = |it: &Option<(u32, Vec<u8>)>| it.as_ref().map(|it| it.1.clone());
            let name = path.to_string_lossy();
            return Err(failure.showing(&name, bytes(&old).as_deref(), bytes(&new).as_deref()));
        }
        let rewritten =
            |path: &&PathBuf| !is_apart(path) && self.stamps.get(*path) != later.stamps.get(*path);
        let rewritten = self.stamps.keys().find(rewritten);
        ensure_none(rewritten, |path| format!("`{}` was rewritten with equal bytes", path.display()))
    }
}

/// Returns the first path whose mode or bytes differ.
fn difference(old: &Files, new: &Files) -> Option<String> {
    let differs = |path: &&PathBuf| old.get(*path) != new.get(*path);
    let path = old.keys().chain(new.keys()).find(differs)?;
    Some(path.display().to_string())
}

fn is_lock(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "lock")
}

fn read_git_files(dir: &Path) -> io::Result<Files> {
    let mut found = Files::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name();
        let is_gits = |name: &str| GITS.iter().chain(&IN_PROGRESS).any(|known| *known == name);
        let is_gits = match name.to_str() {
            Some(name) => match name.strip_suffix(".lock") {
                Some(locked) => locked == "index" || is_gits(locked),
                None => is_gits(name),
            },
            None => false,
        };
        if !is_gits {
            continue;
        }
        if entry.file_type()?.is_dir() {
            let below = ledger::files(&entry.path())?.into_iter();
            found.extend(below.map(|(path, file)| (Path::new(&name).join(path), file)));
        } else {
            let bytes = fs::read(entry.path())?;
            found.insert(name.into(), (entry.metadata()?.mode(), bytes));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_gits_if_its_file_is() {
        let dir = tempfile::tempdir().unwrap();
        let gits = ["HEAD", "HEAD.lock", "MERGE_HEAD.lock", "index.lock", "packed-refs.lock"];
        for name in gits.iter().chain(&["index", "mine", "mine.lock", ".lock"]) {
            fs::write(dir.path().join(name), "").unwrap();
        }
        let found = read_git_files(dir.path()).unwrap();
        assert!(found.keys().eq(gits.map(Path::new)), "{found:?}");
    }
}
