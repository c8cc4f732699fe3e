//! Differences between two trees, before renames are found.

use gix::{
    ObjectId,
    bstr::{BString, ByteSlice},
    objs::{
        TreeRefIter,
        tree::{EntryKind, EntryRef},
    },
};

use crate::{
    blobs::MAX_DEPTH,
    error::{VcsError, check},
    repository::GitRepository,
};

/// A file in a tree: regular, a symbolic link, or the commit of a submodule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TreeFile {
    pub(crate) id: ObjectId,
    pub(crate) kind: EntryKind,
}

impl TreeFile {
    /// Returns true for a file with content: neither a symbolic link nor a submodule.
    pub(crate) fn is_regular(&self) -> bool {
        matches!(self.kind, EntryKind::Blob | EntryKind::BlobExecutable)
    }
}

/// A path whose file differs. At least one of the two files exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Difference {
    pub(crate) path: BString,
    pub(crate) old: Option<TreeFile>,
    pub(crate) new: Option<TreeFile>,
}

/// Returns the paths whose files differ, in the order of git's trees. Identical folders are not read.
pub(crate) fn differences(
    repository: &GitRepository,
    old: ObjectId,
    new: ObjectId,
    cancelled: &dyn Fn() -> bool,
) -> Result<Vec<Difference>, VcsError> {
    let walk = Walk { repository };
    let file = |id| Some(TreeFile { id, kind: EntryKind::Tree });
    let mut found = Vec::new();
    // Pending pairs, the next one last.
    let mut pending = vec![Pair { path: BString::default(), old: file(old), new: file(new), depth: 0 }];
    let (mut seen, mut path_bytes) = (0, 0);
    while let Some(pair) = pending.pop() {
        check(cancelled)?;
        let kind = pair.old.or(pair.new).map(|side| side.kind);
        if pair.old == pair.new {
            continue;
        }
        if kind != Some(EntryKind::Tree) {
            found.push(Difference { path: pair.path, old: pair.old, new: pair.new });
            continue;
        }
        if pair.depth > MAX_DEPTH {
            return Err(repository.too_deep());
        }
        // The paths of all differences stay in memory.
        let from = pending.len();
        walk.open(&pair, &mut pending)?;
        seen += pending.len() - from;
        path_bytes += pending[from..].iter().map(|pair| pair.path.len()).sum::<usize>();
        repository.check_budget(seen, path_bytes)?;
        pending[from..].reverse();
    }
    Ok(found)
}

/// Two entries of the same path, of which one may be missing. Both are trees or neither is.
struct Pair {
    path: BString,
    old: Option<TreeFile>,
    new: Option<TreeFile>,
    depth: usize,
}

struct Walk<'a> {
    repository: &'a GitRepository,
}

impl Walk<'_> {
    /// Adds the pairs of entries in two trees to `pairs`, except for identical ones.
    fn open(&self, at: &Pair, pairs: &mut Vec<Pair>) -> Result<(), VcsError> {
        let (old, new) = (self.read(at.old.map(|tree| tree.id))?, self.read(at.new.map(|tree| tree.id))?);
        let (old, new) = (self.entries(&old)?, self.entries(&new)?);
        let (mut old, mut new) = (&old[..], &new[..]);
        loop {
            let order = match (old.first(), new.first()) {
                (None, None) => return Ok(()),
                (Some(_), None) => std::cmp::Ordering::Less,
                (None, Some(_)) => std::cmp::Ordering::Greater,
                (Some(old), Some(new)) => old.cmp(new),
            };
            let mut name = None;
            let mut take = |entries: &mut &[EntryRef<'_>], is_next: bool| {
                let (first, rest) = entries.split_first().filter(|_| is_next)?;
                name.get_or_insert_with(|| first.filename.to_owned());
                *entries = rest;
                Some(TreeFile { id: first.oid.to_owned(), kind: first.mode.kind() })
            };
            let (before, after) = (take(&mut old, order.is_le()), take(&mut new, order.is_ge()));
            let (false, Some(name)) = (before == after, name) else {
                continue;
            };
            let mut path = at.path.clone();
            if !path.is_empty() {
                path.push(b'/');
            }
            path.extend_from_slice(&name);
            pairs.push(Pair { path, old: before, new: after, depth: at.depth + 1 });
        }
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
        // In a damaged tree, entries out of order would be compared with the wrong ones.
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
