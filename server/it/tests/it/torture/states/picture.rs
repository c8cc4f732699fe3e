//! The state of the disk at one time, in the library and next to it.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use super::scene::Scene;

/// Every file, folder and link below `$T`, with its mode, and its bytes or target; without the server's own folder. If two
/// are equal, nothing has changed in between.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FileTree(BTreeMap<PathBuf, (u32, Vec<u8>)>);

impl FileTree {
    pub(super) fn read(scene: &Scene) -> Self {
        let mut things = BTreeMap::new();
        collect(&scene.top(), Path::new(""), &mut things);
        Self(things)
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

fn collect(top: &Path, folder: &Path, things: &mut BTreeMap<PathBuf, (u32, Vec<u8>)>) {
    for entry in fs::read_dir(top.join(folder)).expect("a folder") {
        let name = folder.join(entry.expect("an entry").file_name());
        if name.ends_with("tabellion") {
            continue;
        }
        let path = top.join(&name);
        let metadata = fs::symlink_metadata(&path).expect("an entry");
        let mut content = Vec::new();
        if metadata.is_symlink() {
            let leads = fs::read_link(&path).expect("a link");
            content = leads.into_os_string().into_encoded_bytes();
        } else if metadata.is_file() {
            content = fs::read(&path).expect("a file");
        } else if metadata.is_dir() {
            collect(top, &name, things);
        }
        things.insert(name, (metadata.permissions().mode(), content));
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
