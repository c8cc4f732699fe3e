//! What differs between two trees, before renames are found.

use gix::{
    ObjectId,
    bstr::{BString, ByteSlice},
    objs::{
        TreeRefIter,
        tree::{EntryKind, EntryRef},
    },
};

use crate::{
    error::{VcsError, check},
    repository::GitRepository,
};

/// Depth limit of trees. Git's own is 2048.
const MAX_DEPTH: usize = 1024;

/// A file in a tree: regular, a symbolic link, or the commit of a submodule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TreeFile {
    pub(crate) id: ObjectId,
    pub(crate) kind: EntryKind,
}

impl TreeFile {
    /// Returns true if it is a file with content of its own: neither a symbolic link nor a submodule.
    pub(crate) fn is_regular(&self) -> bool {
        matches!(self.kind, EntryKind::Blob | EntryKind::BlobExecutable)
    }
}

/// A path whose file differs. One of the two files is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Difference {
    pub(crate) path: BString,
    pub(crate) old: Option<TreeFile>,
    pub(crate) new: Option<TreeFile>,
}

/// Returns the paths whose files differ, in the order of git's trees. Folders that are the same are not read.
pub(crate) fn differences(
    repository: &GitRepository,
    old: ObjectId,
    new: ObjectId,
    cancelled: &dyn Fn() -> bool,
) -> Result<Vec<Difference>, VcsError> {
    let mut walk = Walk {
        repository,
        cancelled,
        path: BString::default(),
        found: Vec::new(),
    };
    walk.trees(Some(old), Some(new), 0)?;
    Ok(walk.found)
}

struct Walk<'a> {
    repository: &'a GitRepository,
    cancelled: &'a dyn Fn() -> bool,
    /// Path of the folder, with a slash at its end.
    path: BString,
    found: Vec<Difference>,
}

impl Walk<'_> {
    fn trees(&mut self, old: Option<ObjectId>, new: Option<ObjectId>, depth: usize) -> Result<(), VcsError> {
        check(self.cancelled)?;
        if old == new || depth > MAX_DEPTH {
            return Ok(());
        }
        let (old, new) = (self.read(old)?, self.read(new)?);
        let (old, new) = (self.entries(&old)?, self.entries(&new)?);
        let (mut old, mut new) = (&old[..], &new[..]);
        loop {
            let order = match (old.first(), new.first()) {
                (None, None) => return Ok(()),
                (Some(_), None) => std::cmp::Ordering::Less,
                (None, Some(_)) => std::cmp::Ordering::Greater,
                (Some(old), Some(new)) => old.cmp(new),
            };
            let take = |entries: &mut &[EntryRef<'_>], is_next: bool| {
                let (first, rest) = entries.split_first().filter(|_| is_next)?;
                let first = (first.filename.to_owned(), first.mode.kind(), first.oid.to_owned());
                *entries = rest;
                Some(first)
            };
            let before = take(&mut old, order.is_le());
            let after = take(&mut new, order.is_ge());
            self.entry(before, after, depth)?;
        }
    }

    /// Compares two entries of the same name, of which one may be missing. Both are trees or neither is.
    fn entry(
        &mut self,
        old: Option<(BString, EntryKind, ObjectId)>,
        new: Option<(BString, EntryKind, ObjectId)>,
        depth: usize,
    ) -> Result<(), VcsError> {
        let Some((name, kind, _)) = old.as_ref().or(new.as_ref()) else {
            return Ok(());
        };
        let (folder, is_tree) = (self.path.len(), *kind == EntryKind::Tree);
        self.path.extend_from_slice(name);
        if is_tree {
            self.path.push(b'/');
            let id = |entry: &Option<(BString, EntryKind, ObjectId)>| entry.as_ref().map(|(_, _, id)| *id);
            self.trees(id(&old), id(&new), depth + 1)?;
        } else {
            let file = |(_, kind, id)| TreeFile { id, kind };
            let (old, new) = (old.map(file), new.map(file));
            if old != new {
                self.found.push(Difference {
                    path: self.path.clone(),
                    old,
                    new,
                });
            }
        }
        self.path.truncate(folder);
        Ok(())
    }

    fn read(&self, tree: Option<ObjectId>) -> Result<Vec<u8>, VcsError> {
        let Some(id) = tree else { return Ok(Vec::new()) };
        let tree = self.repository.git.find_tree(id);
        let mut tree = tree.map_err(|error| self.repository.damaged("a folder of a commit", &error))?;
        Ok(std::mem::take(&mut tree.data))
    }

    fn entries<'t>(&self, tree: &'t [u8]) -> Result<Vec<EntryRef<'t>>, VcsError> {
        let entries = TreeRefIter::from_bytes(tree, self.repository.git.object_hash());
        let entries: Result<Vec<_>, _> = entries.collect();
        let mut entries = entries.map_err(|error| self.repository.damaged("a folder of a commit", &error))?;
        // What is not in order, in a damaged tree, would be compared with the wrong entry.
        if !entries.is_sorted() {
            entries.sort();
        }
        Ok(entries)
    }
}

/// Returns the last segment of a path.
pub(crate) fn file_name(path: &[u8]) -> &[u8] {
    path.rfind_byte(b'/').map_or(path, |slash| &path[slash + 1..])
}
