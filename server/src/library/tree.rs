//! The tree of a commit: what it holds at a path, and the tree that differs from it in that one path.

use gix::{
    ObjectId,
    objs::{
        FindExt, Tree, TreeRefIter,
        bstr::ByteSlice,
        tree::{Entry, EntryKind, EntryMode},
    },
};
use tabellion_schemas::Failure;

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
    pub(super) new: &'a mut NewObjects,
}

/// A tree of the way to a path, before and after the path changed; `None` where there is none.
pub(super) type Step = (Option<ObjectId>, Option<ObjectId>);

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
    /// The tree that is `root` but for `path`, which is `leaf`; and the trees on the way, the top one first.
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
        steps.reverse();
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
        let (name, below) = rest
            .split_once('/')
            .map_or((rest, None), |(name, below)| (name, Some(below)));
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
        steps.push((tree, new));
        Ok(new)
    }

    fn entries(&self, tree: ObjectId) -> Result<Vec<Entry>, Failure> {
        let mut buffer = Vec::new();
        let entries = match self.new.data(tree) {
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

fn not_a_folder(path: &str, below: &str) -> Failure {
    let folder = path.as_bytes().strip_suffix(below.as_bytes()).unwrap_or_default();
    let folder = folder.trim_end_with(|c| c == '/').to_str_lossy();
    refused(format!(
        "`{folder}` is a file or a sub-module in the last commit, so `{path}` can't be in it"
    ))
}
