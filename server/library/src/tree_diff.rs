//! The files that differ between two trees, within limits.
//!
//! A repository of a few kilobytes can hold billions of paths, because a tree may contain another many times, and nest deeper
//! than any path. So the walk keeps its own stack, ends at paths that no system can open, and counts the bytes of the trees
//! that it reads.

use std::{cmp::Ordering, ops::ControlFlow, rc::Rc};

use gix::{
    ObjectId,
    bstr::{BStr, BString, ByteSlice},
    objs::{FindExt, TreeRefIter, tree::EntryRef},
};
use tabellion_runtime::Failure;

use super::failures::InRepository;
use crate::path::{MAX_PATH_BYTES, is_markdown};

/// Counted for each tree in addition to its bytes: the cost of opening an object.
const TREE_OVERHEAD: usize = 256;

/// Remaining budget of a walk.
#[derive(Debug, Clone, Copy)]
pub(super) struct Budget {
    pub(super) tree_bytes: usize,
    pub(super) documents: usize,
}

/// The documents that differ between two trees.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Differences {
    /// Their paths, in no order.
    pub(super) paths: Vec<String>,
    /// Set if the budget ran out before all were found.
    pub(super) truncated: bool,
}

/// Returns the paths of the Markdown files that differ between two trees, as far as `budget` permits. A missing tree is empty.
pub(super) fn between(
    git: &gix::Repository,
    old: Option<ObjectId>,
    new: Option<ObjectId>,
    budget: &mut Budget,
) -> Result<Differences, Failure> {
    let mut found = Differences::default();
    let mut room = budget.documents;
    let ended = walk(git, [old, new], budget, |path, [was, is]| {
        // A link or a submodule is not a document.
        let [was, is] = [was, is].map(|entry| entry.filter(|(mode, _)| mode.is_blob()));
        let Ok(path) = path.to_str() else {
            return ControlFlow::Continue(());
        };
        if was == is || path.len() > MAX_PATH_BYTES || !is_markdown(path) {
            return ControlFlow::Continue(());
        }
        let Some(left) = room.checked_sub(1) else {
            return ControlFlow::Break(());
        };
        room = left;
        found.paths.push(path.to_owned());
        ControlFlow::Continue(())
    })?;
    found.truncated = ended.is_break();
    budget.documents = room;
    Ok(found)
}

/// Calls `visit` with each file, link and submodule that differs between two trees, and both its entries; with a folder only if its
/// path is longer than a system can open. Ends if that ends, or the budget does not suffice. The path is relative to the trees.
pub(super) fn walk(
    git: &gix::Repository,
    [old, new]: [Option<ObjectId>; 2],
    budget: &mut Budget,
    mut visit: impl FnMut(&BStr, [Side; 2]) -> ControlFlow<()>,
) -> Result<ControlFlow<()>, Failure> {
    if old == new {
        return Ok(ControlFlow::Continue(()));
    }
    let mut pending = vec![Pair { above: Rc::default(), name: BString::default(), old, new }];
    while let Some(pair) = pending.pop() {
        let folder: Rc<[u8]> = [&*pair.above, &*pair.name].concat().into();
        let (mut old_bytes, mut new_bytes) = (Vec::new(), Vec::new());
        let old = entries(git, pair.old, &mut old_bytes, budget)?;
        let new = entries(git, pair.new, &mut new_bytes, budget)?;
        let Some((old, new)) = old.zip(new) else {
            return Ok(ControlFlow::Break(()));
        };
        for (name, [was, is]) in joined(old, new) {
            if was == is {
                continue;
            }
            let is_folder = was.or(is).is_some_and(|(mode, _)| mode.is_tree());
            if is_folder && folder.len() + name.len() <= MAX_PATH_BYTES {
                let [old, new] = [was, is].map(|entry| entry.map(|(_, id)| id));
                pending.push(Pair {
                    above: Rc::clone(&folder),
                    name: [&**name, b"/"].concat().into(),
                    old,
                    new,
                });
            } else if visit([&folder, &**name].concat().as_bstr(), [was, is]).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
    }
    Ok(ControlFlow::Continue(()))
}

/// Two trees to compare.
struct Pair {
    /// Path of the folder above, with a trailing `/`.
    above: Rc<[u8]>,
    /// Name in it, with a trailing `/`.
    name: BString,
    old: Option<ObjectId>,
    new: Option<ObjectId>,
}

/// An entry of a tree; `None` if there is none.
pub(super) type Side = Option<(gix::objs::tree::EntryMode, ObjectId)>;

/// Returns the entries of two trees by name, in git's order; both sides if they have the same name and kind.
fn joined<'a>(
    old: Vec<EntryRef<'a>>,
    new: Vec<EntryRef<'a>>,
) -> impl Iterator<Item = (&'a gix::bstr::BStr, [Side; 2])> {
    let (mut old, mut new) = (old.into_iter().peekable(), new.into_iter().peekable());
    std::iter::from_fn(move || {
        let order = match (old.peek(), new.peek()) {
            (Some(old), Some(new)) => old.cmp(new),
            (Some(_), None) => Ordering::Less,
            (None, _) => Ordering::Greater,
        };
        let before = if order.is_le() { old.next() } else { None };
        let after = if order.is_ge() { new.next() } else { None };
        let name = before.or(after)?.filename;
        let side = |entry: EntryRef<'_>| (entry.mode, entry.oid.to_owned());
        Some((name, [before.map(side), after.map(side)]))
    })
}

/// Returns the entries of a tree; `None` if the budget does not suffice.
fn entries<'a>(
    git: &gix::Repository,
    tree: Option<ObjectId>,
    bytes: &'a mut Vec<u8>,
    budget: &mut Budget,
) -> Result<Option<Vec<EntryRef<'a>>>, Failure> {
    let Some(tree) = tree else {
        return Ok(Some(Vec::new()));
    };
    let data = git.objects.find(&tree, bytes).reading("a tree")?.data;
    let Some(rest) = budget.tree_bytes.checked_sub(data.len() + TREE_OVERHEAD) else {
        return Ok(None);
    };
    budget.tree_bytes = rest;
    let entries = TreeRefIter::from_bytes(data, tree.kind());
    entries.map(|entry| entry.reading("a tree")).collect::<Result<_, _>>().map(Some)
}
