//! The tree of a commit: looks up a path, and creates trees with changed paths.

use std::{cmp::Ordering, collections::BTreeMap};

use gix::{
    ObjectId,
    objs::{
        FindExt, Tree, TreeRefIter,
        bstr::ByteSlice,
        tree::{Entry, EntryKind, EntryMode},
    },
};
use tabellion_runtime::Failure;

use super::{
    failures::{InRepository, refused},
    objects::NewObjects,
};

/// A file as git stores it. From other machines, a link or a submodule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TreeEntry {
    /// Blob id of its bytes; the commit of a submodule.
    pub(super) blob: ObjectId,
    /// Kind of entry: a file, or an executable one.
    pub(super) mode: EntryMode,
}

/// Reads trees from the repository and from objects to be added.
pub(super) struct Trees<'a> {
    pub(super) git: &'a gix::Repository,
    /// Objects of earlier pending changes.
    pub(super) pending: &'a NewObjects,
    pub(super) new: &'a mut NewObjects,
}

/// Changes of files, by path; `None` deletes one.
///
/// Ordered by segments: changes below one folder follow each other.
pub(super) type TreeChanges = BTreeMap<GitPath, Option<TreeEntry>>;

/// A path in a repository, ordered by segments: `a/b` comes before `a.md`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GitPath(String);

impl GitPath {
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<String> for GitPath {
    fn from(path: String) -> Self {
        Self(path)
    }
}

impl Ord for GitPath {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.split('/').cmp(other.0.split('/'))
    }
}

impl PartialOrd for GitPath {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A folder above changed files, with its tree before and after; `None` if it does not exist. The top folder has the empty
/// path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FolderChange {
    pub(super) path: String,
    pub(super) before: Option<ObjectId>,
    pub(super) after: Option<ObjectId>,
}

/// Returns the file at `path` in `tree`; `None` if there is none, or it is not a file (a link, a submodule, a folder).
pub(super) fn look_up(
    git: &gix::Repository,
    tree: ObjectId,
    path: &str,
) -> Result<Option<TreeEntry>, Failure> {
    let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
    let Some(tree) = folder(git, tree, above)? else {
        return Ok(None);
    };
    let mut buffer = Vec::new();
    let entries = git.objects.find_tree_iter(&tree, &mut buffer).reading("a tree")?;
    let found = find(entries, name)?.filter(|(mode, _)| mode.is_blob());
    Ok(found.map(|(mode, blob)| TreeEntry { blob, mode }))
}

/// Returns the tree of the folder at `path` in `tree`, which may end in `/`; `None` if there is none.
pub(super) fn folder(git: &gix::Repository, tree: ObjectId, path: &str) -> Result<Option<ObjectId>, Failure> {
    let mut tree = tree;
    let mut buffer = Vec::new();
    for segment in path.split('/').filter(|segment| !segment.is_empty()) {
        let entries = git.objects.find_tree_iter(&tree, &mut buffer).reading("a tree")?;
        match find(entries, segment)? {
            Some((mode, id)) if mode.is_tree() => tree = id,
            _ => return Ok(None),
        }
    }
    Ok(Some(tree))
}

/// Returns the names in the folder at `path` in `tree`, which may end in `/`; none if it can't be read.
pub(super) fn names(git: &gix::Repository, tree: ObjectId, path: &str) -> Vec<String> {
    let Ok(Some(tree)) = folder(git, tree, path) else {
        return Vec::new();
    };
    let mut buffer = Vec::new();
    let Ok(entries) = git.objects.find_tree_iter(&tree, &mut buffer) else {
        return Vec::new();
    };
    entries.filter_map(|entry| Some(entry.ok()?.filename.to_str().ok()?.to_owned())).collect()
}

/// Returns the tree of a commit.
pub(super) fn of_commit(git: &gix::Repository, commit: ObjectId) -> Result<ObjectId, Failure> {
    let commit = git.find_commit(commit).reading("a commit")?;
    Ok(commit.tree_id().reading("a commit")?.detach())
}

/// Returns the time of a commit in seconds since 1970; `None` if it can't be read from it.
pub(super) fn time_of_commit(git: &gix::Repository, commit: ObjectId) -> Result<Option<i64>, Failure> {
    let commit = git.find_commit(commit).reading("a commit")?;
    Ok(commit.time().ok().map(|time| time.seconds))
}

/// As [`look_up`], in the tree of `commit`; `None` without a commit.
pub(super) fn look_up_at(
    git: &gix::Repository,
    commit: Option<ObjectId>,
    path: &str,
) -> Result<Option<TreeEntry>, Failure> {
    match commit {
        Some(commit) => look_up(git, of_commit(git, commit)?, path),
        None => Ok(None),
    }
}

fn find(entries: TreeRefIter<'_>, name: &str) -> Result<Option<(EntryMode, ObjectId)>, Failure> {
    for entry in entries {
        let entry = entry.reading("a tree")?;
        if entry.filename == name {
            return Ok(Some((entry.mode, entry.oid.to_owned())));
        }
    }
    Ok(None)
}

impl Trees<'_> {
    /// As [`look_up`], also in trees that are not written yet.
    pub(super) fn look_up(&self, tree: ObjectId, path: &str) -> Result<Option<TreeEntry>, Failure> {
        let entries = self.entries(tree)?;
        let (name, below) = split(path);
        let Some(entry) = entries.iter().find(|entry| entry.filename == name) else {
            return Ok(None);
        };
        match below {
            Some(below) if entry.mode.is_tree() => self.look_up(entry.oid, below),
            None if entry.mode.is_blob() => Ok(Some(TreeEntry { blob: entry.oid, mode: entry.mode })),
            _ => Ok(None),
        }
    }

    /// Returns the tree `root` with `changes` applied, and the folders above them. Empty folders are omitted, as in git.
    ///
    /// # Errors
    /// Refused if `root` has an entry above a path that is not a folder, or one at a path that is not a file, or if one change
    /// needs a folder where another puts a file.
    pub(super) fn with(
        &mut self,
        root: Option<ObjectId>,
        changes: &TreeChanges,
    ) -> Result<(ObjectId, Vec<FolderChange>), Failure> {
        let mut folders = Vec::new();
        let changes: Vec<_> =
            changes.iter().map(|(path, leaf)| (path.as_str(), path.as_str(), *leaf)).collect();
        let new = match self.replaced(root, "", &changes, &mut folders)? {
            Some(tree) => tree,
            None => self.new.add(&Tree::empty())?,
        };
        Ok((new, folders))
    }

    /// Returns the changed tree of `folder`. Each change is the path from here on, the whole path, and its entry.
    fn replaced(
        &mut self,
        tree: Option<ObjectId>,
        folder: &str,
        changes: &[(&str, &str, Option<TreeEntry>)],
        folders: &mut Vec<FolderChange>,
    ) -> Result<Option<ObjectId>, Failure> {
        let mut entries = tree.map(|id| self.entries(id)).transpose()?.unwrap_or_default();
        for of_name in changes.chunk_by(|(a, ..), (b, ..)| split(a).0 == split(b).0) {
            let (rest, path, leaf) = of_name[0];
            let (name, below) = split(rest);
            let at = entries.iter().position(|entry| entry.filename == name);
            let found = at.map(|at| entries.remove(at));
            let new = match below {
                Some(below) => {
                    let subtree = match found {
                        Some(entry) if !entry.mode.is_tree() => return Err(not_a_folder(path, below)),
                        found => found.map(|entry| entry.oid),
                    };
                    let inner: Option<Vec<_>> = of_name
                        .iter()
                        .map(|(rest, path, leaf)| Some((split(rest).1?, *path, *leaf)))
                        .collect();
                    let inner = inner.ok_or_else(|| not_a_folder(path, below))?;
                    let subfolder = &path[..path.len() - below.len() - 1];
                    let new = self.replaced(subtree, subfolder, &inner, folders)?;
                    new.map(|id| (id, EntryKind::Tree.into()))
                }
                None if of_name.len() > 1 => {
                    let (rest, path, _) = of_name[1];
                    return Err(not_a_folder(path, split(rest).1.unwrap_or_default()));
                }
                None if found.is_some_and(|entry| {
                    let stays_submodule =
                        entry.mode.is_commit() && leaf.is_some_and(|kept| kept.mode.is_commit());
                    (entry.mode.is_tree() || entry.mode.is_commit()) && !stays_submodule
                }) =>
                {
                    let message = format!(
                        "`{path}` is a folder or a sub-module in the last commit; commit its removal first"
                    );
                    return Err(refused(message));
                }
                None => leaf.map(|kept| (kept.blob, kept.mode)),
            };
            if let Some((oid, mode)) = new {
                let entry = Entry { mode, filename: name.into(), oid };
                let at = entries.partition_point(|other| *other < entry);
                entries.insert(at, entry);
            }
        }
        let after =
            if entries.is_empty() { None } else { Some(self.new.add_after(tree, &Tree { entries })?) };
        folders.push(FolderChange { path: folder.to_owned(), before: tree, after });
        Ok(after)
    }

    fn entries(&self, tree: ObjectId) -> Result<Vec<Entry>, Failure> {
        let mut buffer = Vec::new();
        let entries = match self.new.data(tree).or_else(|| self.pending.data(tree)) {
            Some(data) => TreeRefIter::from_bytes(data, tree.kind()),
            None => self.git.objects.find_tree_iter(&tree, &mut buffer).reading("a tree")?,
        };
        let entries: Vec<_> =
            entries.map(|entry| entry.map(Entry::from).reading("a tree")).collect::<Result<_, _>>()?;
        // Git's own programs write only sorted trees without duplicates, but accept others in a clone.
        if entries.is_sorted_by(|a, b| a < b) {
            return Ok(entries);
        }
        Err(refused(format!(
            "the folder {tree} of the last commit has its entries in no order, or one twice; `git fsck` names it, and a new commit of its \
             files repairs it"
        )))
    }
}

/// Splits off the first segment of a path.
fn split(path: &str) -> (&str, Option<&str>) {
    path.split_once('/').map_or((path, None), |(name, below)| (name, Some(below)))
}

fn not_a_folder(path: &str, below: &str) -> Failure {
    let folder = path.as_bytes().strip_suffix(below.as_bytes()).unwrap_or_default();
    let folder = folder.trim_end_with(|c| c == '/').to_str_lossy();
    refused(format!("`{folder}` is a file or a sub-module in the last commit, so `{path}` can't be in it"))
}
