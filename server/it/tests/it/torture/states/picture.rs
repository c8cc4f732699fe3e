//! The state of the disk at one time, in the library and next to it.

use std::{collections::BTreeMap, fs, os::unix::fs::PermissionsExt, path::PathBuf};

use walkdir::{DirEntry, WalkDir};

use super::scene::Scene;

/// Every file, folder and link below `$T`, with its mode, and its bytes or target; without the server's own folder. If two
/// are equal, nothing has changed in between.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FileTree(BTreeMap<PathBuf, (u32, Vec<u8>)>);

impl FileTree {
    pub(super) fn read(scene: &Scene) -> Self {
        let top = scene.top();
        let all = WalkDir::new(&top).min_depth(1).into_iter();
        let all = all.filter_entry(|entry| entry.file_name() != "tabellion");
        let seen = |entry: walkdir::Result<DirEntry>| {
            let entry = entry.expect("an entry");
            let (path, metadata) = (entry.path(), entry.metadata().expect("an entry"));
            let content = if metadata.is_symlink() {
                fs::read_link(path).expect("a link").into_os_string().into_encoded_bytes()
            } else if metadata.is_file() {
                fs::read(path).expect("a file")
            } else {
                Vec::new()
            };
            let name = path.strip_prefix(&top).expect("it is below").to_owned();
            (name, (metadata.permissions().mode(), content))
        };
        Self(all.map(seen).collect())
    }

    /// Returns the paths below `$T` that differ from `earlier`.
    pub(super) fn changed_since(&self, earlier: &Self) -> Vec<PathBuf> {
        let all = self.0.keys().chain(earlier.0.keys());
        let mut changed: Vec<_> =
            all.filter(|path| self.0.get(*path) != earlier.0.get(*path)).cloned().collect();
        changed.sort();
        changed.dedup();
        changed
    }
}

/// The files, and git's view of them.
#[derive(Debug)]
pub(super) struct Picture {
    pub(super) things: FileTree,
    /// Git's status of the library.
    pub(super) status: String,
    /// Every entry of the index, with its marks.
    pub(super) index: Vec<String>,
    /// Commits of HEAD, newest first.
    pub(super) commits: Vec<String>,
}

impl Picture {
    pub(super) fn capture(scene: &Scene) -> Self {
        let [status, index, commits] = scene.parts([
            "git status --porcelain --untracked-files=all",
            "git ls-files -v --stage",
            "git rev-list HEAD -- 2> /dev/null || true",
        ]);
        let lines = |text: String| text.lines().map(String::from).collect();
        Self { things: FileTree::read(scene), status, index: lines(index), commits: lines(commits) }
    }
}
