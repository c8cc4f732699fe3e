//! Everything that is on the disk at one moment, in the library and beside it.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use super::scene::Scene;

/// Two pictures that are equal show a scene that nobody touched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Picture {
    /// Every file, folder and link below `$T`: its mode, and its bytes or where it leads. Our own folder is left out.
    pub(super) things: BTreeMap<PathBuf, (u32, Vec<u8>)>,
    /// What git says of the library.
    pub(super) status: String,
    /// Every entry of the index, with its marks.
    pub(super) index: String,
    /// Commits of HEAD, newest first.
    pub(super) commits: Vec<String>,
}

impl Picture {
    pub(super) fn of(scene: &Scene) -> Self {
        let mut things = BTreeMap::new();
        collect(&scene.top(), Path::new(""), &mut things);
        Self {
            things,
            ..Self::of_git(scene)
        }
    }

    /// What git says alone, even if it can't say all.
    fn of_git(scene: &Scene) -> Self {
        let said = |command: &str| scene.git(&format!("{command} 2>&1 || true"));
        Self {
            things: BTreeMap::new(),
            status: said("status --porcelain --untracked-files=all"),
            index: said("ls-files -v --stage"),
            commits: said("rev-list HEAD --")
                .lines()
                .filter(|line| line.len() == 40)
                .map(String::from)
                .collect(),
        }
    }

    /// The paths below `$T` that differ from `earlier`.
    pub(super) fn changed_since(&self, earlier: &Self) -> Vec<PathBuf> {
        let all = self.things.keys().chain(earlier.things.keys());
        let mut changed: Vec<_> = all
            .filter(|path| self.things.get(*path) != earlier.things.get(*path))
            .cloned()
            .collect();
        changed.sort();
        changed.dedup();
        changed
    }
}

fn collect(top: &Path, folder: &Path, things: &mut BTreeMap<PathBuf, (u32, Vec<u8>)>) {
    for entry in fs::read_dir(top.join(folder)).expect("a folder") {
        let name = folder.join(entry.expect("an entry").file_name());
        let metadata = fs::symlink_metadata(top.join(&name)).expect("an entry");
        let mut content = Vec::new();
        if metadata.is_symlink() {
            let leads = fs::read_link(top.join(&name)).expect("a link");
            content = leads.into_os_string().into_encoded_bytes();
        } else if metadata.is_file() {
            content = fs::read(top.join(&name)).expect("a file");
        } else if metadata.is_dir() && !name.ends_with("tabellion") {
            collect(top, &name, things);
        }
        if !name.ends_with("tabellion") {
            things.insert(name, (metadata.permissions().mode(), content));
        }
    }
}
