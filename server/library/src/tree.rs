//! The tree of a commit: what it holds at a path, and the tree that differs from it in that one path.

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
    objects::NewObjects,
    trouble::{InRepository, refused},
};

/// A document as git keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kept {
    /// The blob of its bytes.
    pub(super) blob: ObjectId,
    /// What kind of entry it is: a file, or an executable one.
    pub(super) mode: EntryMode,
}

/// Trees, from the repository and from what is about to be added to it.
pub(super) struct Trees<'a> {
    pub(super) git: &'a gix::Repository,
    /// Objects of changes that come first.
    pub(super) pending: &'a NewObjects,
    pub(super) new: &'a mut NewObjects,
}

/// A folder of the way to a path, with its tree before and after the path changed; `None` where there is none. The
/// topmost folder is the empty text.
pub(super) type Step = (String, Option<ObjectId>, Option<ObjectId>);

/// What `tree` holds at `path`; `None` when there is nothing, or it is not a file (a link, a sub-module, a folder).
pub(super) fn look_up(git: &gix::Repository, tree: ObjectId, path: &str) -> Result<Option<Kept>, Failure> {
    let mut tree = tree;
    let mut buffer = Vec::new();
    let mut segments = path.split('/').peekable();
    while let Some(segment) = segments.next() {
        let entries = git.objects.find_tree_iter(&tree, &mut buffer).reading("a tree")?;
        let Some((mode, id)) = find(entries, segment)? else {
            return Ok(None);
        };
        match segments.peek() {
            None if mode.is_blob() => return Ok(Some(Kept { blob: id, mode })),
            Some(_) if mode.is_tree() => tree = id,
            _ => return Ok(None),
        }
    }
    Ok(None)
}

/// Returns the tree of a commit.
pub(super) fn of_commit(git: &gix::Repository, commit: ObjectId) -> Result<ObjectId, Failure> {
    let commit = git.find_commit(commit).reading("a commit")?;
    Ok(commit.tree_id().reading("a commit")?.detach())
}

/// As [`look_up`], in the tree of `commit`; `None` where there is no commit.
pub(super) fn look_up_at(
    git: &gix::Repository,
    commit: Option<ObjectId>,
    path: &str,
) -> Result<Option<Kept>, Failure> {
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
    pub(super) fn look_up(&self, tree: ObjectId, path: &str) -> Result<Option<Kept>, Failure> {
        let entries = self.entries(tree)?;
        let (name, below) = split(path);
        let Some(entry) = entries.iter().find(|entry| entry.filename == name) else {
            return Ok(None);
        };
        match below {
            Some(below) if entry.mode.is_tree() => self.look_up(entry.oid, below),
            None if entry.mode.is_blob() => Ok(Some(Kept {
                blob: entry.oid,
                mode: entry.mode,
            })),
            _ => Ok(None),
        }
    }

    /// The tree that is `root` but for `path`, which is `leaf`; and the trees on the way.
    /// A folder that would be empty is left out, as git does.
    ///
    /// # Errors
    /// Refused when `root` has something else than folders on the way or than a file at its end.
    pub(super) fn with(
        &mut self,
        root: Option<ObjectId>,
        path: &str,
        leaf: Option<Kept>,
    ) -> Result<(ObjectId, Vec<Step>), Failure> {
        let mut steps = Vec::new();
        let new = self.replaced(root, path, path, leaf, &mut steps)?;
        let new = match new {
            Some(tree) => tree,
            None => self.new.add(&Tree::empty())?,
        };
        Ok((new, steps))
    }

    fn replaced(
        &mut self,
        tree: Option<ObjectId>,
        rest: &str,
        path: &str,
        leaf: Option<Kept>,
        steps: &mut Vec<Step>,
    ) -> Result<Option<ObjectId>, Failure> {
        let mut entries = tree.map(|id| self.entries(id)).transpose()?.unwrap_or_default();
        let (name, below) = split(rest);
        let at = entries.iter().position(|entry| entry.filename == name);
        let found = at.map(|at| entries.remove(at));
        let new = match below {
            Some(below) => {
                let folder = match found {
                    Some(entry) if !entry.mode.is_tree() => return Err(not_a_folder(path, below)),
                    found => found.map(|entry| entry.oid),
                };
                let new = self.replaced(folder, below, path, leaf, steps)?;
                new.map(|id| (id, EntryKind::Tree.into()))
            }
            None if found.is_some_and(|entry| entry.mode.is_tree() || entry.mode.is_commit()) => {
                let message = format!(
                    "`{path}` is a folder or a sub-module in the last commit; commit its removal first"
                );
                return Err(refused(message));
            }
            None => leaf.map(|kept| (kept.blob, kept.mode)),
        };
        if let Some((oid, mode)) = new {
            let entry = Entry {
                mode,
                filename: name.into(),
                oid,
            };
            let at = entries.partition_point(|other| *other < entry);
            entries.insert(at, entry);
        }
        let new = if entries.is_empty() {
            None
        } else {
            Some(self.new.add(&Tree { entries })?)
        };
        let folder = path[..path.len() - rest.len()].trim_end_matches('/');
        steps.push((folder.to_owned(), tree, new));
        Ok(new)
    }

    fn entries(&self, tree: ObjectId) -> Result<Vec<Entry>, Failure> {
        let mut buffer = Vec::new();
        let entries = match self.new.data(tree).or_else(|| self.pending.data(tree)) {
            Some(data) => TreeRefIter::from_bytes(data, tree.kind()),
            None => self
                .git
                .objects
                .find_tree_iter(&tree, &mut buffer)
                .reading("a tree")?,
        };
        entries
            .map(|entry| entry.map(Entry::from).reading("a tree"))
            .collect()
    }
}

/// The first name of a path, and what is below it.
fn split(path: &str) -> (&str, Option<&str>) {
    path.split_once('/')
        .map_or((path, None), |(name, below)| (name, Some(below)))
}

fn not_a_folder(path: &str, below: &str) -> Failure {
    let folder = path.as_bytes().strip_suffix(below.as_bytes()).unwrap_or_default();
    let folder = folder.trim_end_with(|c| c == '/').to_str_lossy();
    refused(format!(
        "`{folder}` is a file or a sub-module in the last commit, so `{path}` can't be in it"
    ))
}
