//! Everything that stays as it is where nothing is to be changed: documents with their stamps, what lies around the
//! library, history, index, refs, hooks and configuration.
//!
//! A server may keep a folder of its own in `.git`, and git's objects may come and go; nothing else there is its to touch.

use std::{
    collections::BTreeMap,
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use crate::{
    judgement::{Judgement, Stop, ensure, fail},
    ledger::{self, Files},
    scene::{Scene, View},
};

/// What in `.git` is git's or the user's; locks come on top. The index is compared by what it holds.
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

/// What git keeps of something that it is in the middle of.
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

/// A library with all that belongs to it, at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moment {
    /// The library and what lies around it.
    pub view: View,
    /// What lies in `.git`, apart from objects, the index and what git does not know.
    pub git: Files,
    /// When each file was written, and which one it is.
    stamps: BTreeMap<PathBuf, (i64, i64, u64)>,
}

impl Moment {
    /// As it is now.
    ///
    /// # Errors
    /// When the disk or git fails.
    pub fn of(scene: &Scene<'_>) -> Result<Self, Stop> {
        let view = scene.view()?;
        let root = scene.library();
        let stamp = |path: &PathBuf| {
            let metadata = fs::symlink_metadata(root.join(path))?;
            let stamp = (metadata.mtime(), metadata.mtime_nsec(), metadata.ino());
            Ok::<_, io::Error>((path.clone(), stamp))
        };
        let stamps = view.library.files.keys().map(stamp).collect::<Result<_, _>>()?;
        let git = gits_own(&root.join(".git"))?;
        Ok(Self { view, git, stamps })
    }

    /// Fails unless `later` is the same.
    ///
    /// # Errors
    /// The failure, which says what is different.
    pub fn same(&self, later: &Self) -> Judgement {
        self.same_around(later)?;
        self.same_documents(later, &[])?;
        self.view.same_folders(&later.view)?;
        let commits = later.view.library.commits_since(&self.view.library).len();
        ensure(commits == 0, || {
            format!("{commits} commits were made where nothing was to change")
        })?;
        let (old, new) = (&self.view.library, &later.view.library);
        ensure(old.commits == new.commits, || {
            "the history is not what it was".into()
        })?;
        self.same_git(later)?;
        ensure(old.index == new.index, || {
            let (old, new) = (&old.index, &new.index);
            format!("what is staged changed, from {old:?} to {new:?}")
        })?;
        ensure(old.status == new.status, || {
            let (old, new) = (&old.status, &new.status);
            format!("`git status` changed, from {old:?} to {new:?}")
        })
    }

    /// Fails unless what lies around the library is the same in `later`.
    ///
    /// # Errors
    /// The failure.
    pub fn same_around(&self, later: &Self) -> Judgement {
        let change = difference(&self.view.around, &later.view.around);
        ensure(change.is_none(), || {
            let path = change.unwrap_or_default();
            format!("`{path}`, which lies outside of the library, changed")
        })
    }

    /// Fails unless git's own files are the same in `later`.
    ///
    /// # Errors
    /// The failure.
    pub fn same_git(&self, later: &Self) -> Judgement {
        let change = difference(&self.git, &later.git);
        ensure(change.is_none(), || {
            let path = change.unwrap_or_default();
            format!("`.git/{path}` changed")
        })
    }

    /// Fails unless what tells git what to do is the same in `later`: hooks, configuration, lists of what is ignored.
    ///
    /// # Errors
    /// The failure.
    pub fn same_control(&self, later: &Self) -> Judgement {
        self.same_in_git(later, |path| {
            ["config", "hooks", "info"].iter().any(|it| path.starts_with(it))
        })
    }

    /// Fails unless what git is in the middle of is the same in `later`, and each lock of others is still there.
    ///
    /// # Errors
    /// The failure.
    pub fn same_in_progress(&self, later: &Self) -> Judgement {
        self.same_in_git(later, |path| {
            IN_PROGRESS.iter().any(|it| path.starts_with(it)) || is_lock(path)
        })
    }

    fn same_in_git(&self, later: &Self, is_meant: fn(&Path) -> bool) -> Judgement {
        let meant = |moment: &Self| {
            let mut git = moment.git.clone();
            git.retain(|path, _| is_meant(path));
            git
        };
        let change = difference(&meant(self), &meant(later));
        ensure(change.is_none(), || {
            let path = change.unwrap_or_default();
            format!("`.git/{path}` changed")
        })
    }

    /// Fails unless all documents are the same in `later`, but for those `apart` from them: bytes, modes, stamps.
    ///
    /// # Errors
    /// The failure.
    pub fn same_documents(&self, later: &Self, apart: &[&str]) -> Judgement {
        let is_apart = |path: &Path| apart.iter().any(|it| Path::new(it) == path);
        let changed = later.view.library.changed_since(&self.view.library);
        if let Some(path) = changed.iter().find(|path| !is_apart(path)) {
            let found = |moment: &Self| moment.view.library.files.get(path).cloned();
            let (old, new) = (found(self), found(later));
            let what = match (&old, &new) {
                (None, _) => "came",
                (_, None) => "is gone",
                (Some((old, _)), Some((new, _))) if old != new => "has another mode",
                _ => "changed",
            };
            let failure = fail(format!(
                "`{}` {what}, which nothing was to happen to",
                path.display()
            ));
            let bytes = |it: &Option<(u32, Vec<u8>)>| it.as_ref().map(|it| it.1.clone());
            let name = path.to_string_lossy();
            return Err(failure.showing(&name, bytes(&old).as_deref(), bytes(&new).as_deref()));
        }
        let rewritten =
            |path: &&PathBuf| !is_apart(path) && self.stamps.get(*path) != later.stamps.get(*path);
        let rewritten = self.stamps.keys().find(rewritten);
        ensure(rewritten.is_none(), || {
            let path = rewritten.cloned().unwrap_or_default();
            format!("`{}` was written again, with the bytes it had", path.display())
        })
    }
}

/// The first path whose mode or bytes differ.
fn difference(old: &Files, new: &Files) -> Option<String> {
    let differs = |path: &&PathBuf| old.get(*path) != new.get(*path);
    let path = old.keys().chain(new.keys()).find(differs)?;
    Some(path.display().to_string())
}

fn is_lock(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "lock")
}

fn gits_own(dir: &Path) -> io::Result<Files> {
    let mut found = Files::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name();
        let mut known = GITS.iter().chain(&IN_PROGRESS);
        if !is_lock(Path::new(&name)) && !known.any(|known| *known == name) {
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
