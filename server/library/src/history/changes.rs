//! Finds the documents that a commit changed.
//!
//! A commit changed a path if its content there, a file or nothing, differs from that of each parent; the first commit
//! changed everything in it. Without merges this is `git log -- PATH`. A merge counts only if it took neither side's bytes,
//! and commits of both sides count, including those of the side not taken: `git log --full-history -- PATH` without the
//! merges for which `git diff-tree -c` prints nothing.

use gix::{
    ObjectId,
    bstr::{BStr, ByteSlice},
    objs::{FindExt, TreeRefIter, tree::EntryRef},
};
use tabellion_runtime::Failure;

use super::{
    super::{
        failures::InRepository,
        tree::{self, TreeEntry},
    },
    ancestry::CommitData,
};
use crate::path::is_markdown;

/// Returns the git paths of the Markdown files that `commit` changed, in no order.
pub(super) fn of_commit(git: &gix::Repository, commit: &CommitData) -> Result<Vec<String>, Failure> {
    let parents = trees_of_parents(git, commit)?;
    let mut changed = Vec::new();
    let first = parents.first().copied();
    between(git, first, commit.tree, "", &mut changed)?;
    for other in parents.iter().skip(1) {
        let mut still = Vec::new();
        for path in changed {
            if tree::look_up(git, *other, &path)? != kept(git, commit, &path)? {
                still.push(path);
            }
        }
        changed = still;
    }
    Ok(changed)
}

/// A document that a commit changed, or that its record names although its bytes stayed as they were.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Touched {
    /// Its git path.
    pub(super) path: String,
    /// Whether its bytes stayed as they were.
    pub(super) is_same: bool,
}

/// Returns the Markdown files that `commit` [changed](of_commit), and the documents that its record names besides.
pub(super) fn touched(git: &gix::Repository, commit: &CommitData) -> Result<Vec<Touched>, Failure> {
    let changed = of_commit(git, commit)?;
    let named = commit.record.iter().flat_map(|record| &record.paths);
    let same: Vec<_> = named.filter(|path| !changed.contains(path)).cloned().collect();
    let touched = |is_same| move |path| Touched { path, is_same };
    let changed = changed.into_iter().map(touched(false));
    Ok(changed.chain(same.into_iter().map(touched(true))).collect())
}

/// Returns true if `commit` changed the file at the git path `path`.
pub(super) fn touches(git: &gix::Repository, commit: &CommitData, path: &str) -> Result<bool, Failure> {
    let now = kept(git, commit, path)?;
    let parents = trees_of_parents(git, commit)?;
    if parents.is_empty() {
        return Ok(now.is_some());
    }
    for parent in parents {
        if Some(parent) == commit.tree || tree::look_up(git, parent, path)? == now {
            return Ok(false);
        }
    }
    Ok(true)
}

fn kept(git: &gix::Repository, commit: &CommitData, path: &str) -> Result<Option<TreeEntry>, Failure> {
    match commit.tree {
        Some(tree) => tree::look_up(git, tree, path),
        None => Ok(None),
    }
}

/// Returns the trees of the parents, without those that a shallow clone lacks.
fn trees_of_parents(git: &gix::Repository, commit: &CommitData) -> Result<Vec<ObjectId>, Failure> {
    let mut trees = Vec::with_capacity(commit.parents.len());
    for parent in &commit.parents {
        let parent = CommitData::read(git, *parent)?;
        trees.extend(parent.and_then(|parent| parent.tree));
    }
    Ok(trees)
}

/// Adds the Markdown files that differ between two trees, prefixed with `folder`.
fn between(
    git: &gix::Repository,
    old: Option<ObjectId>,
    new: Option<ObjectId>,
    folder: &str,
    changed: &mut Vec<String>,
) -> Result<(), Failure> {
    if old == new {
        return Ok(());
    }
    let (mut old_bytes, mut new_bytes) = (Vec::new(), Vec::new());
    let (old, new) = (
        entries(git, old, &mut old_bytes)?,
        entries(git, new, &mut new_bytes)?,
    );
    let (mut old, mut new) = (old.into_iter().peekable(), new.into_iter().peekable());
    loop {
        // The first in git's order; both if they have the same name and kind.
        let order = match (old.peek(), new.peek()) {
            (Some(old), Some(new)) => old.cmp(new),
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (None, None) => return Ok(()),
        };
        let before = if order.is_le() { old.next() } else { None };
        let after = if order.is_ge() { new.next() } else { None };
        let (Some(entry), is_tree) = (before.or(after), |entry: &EntryRef<'_>| entry.mode.is_tree()) else {
            return Ok(());
        };
        let Some(name) = utf8(entry.filename) else {
            continue;
        };
        let [was, is] = [before, after].map(|entry| entry.map(|entry| (entry.mode, entry.oid.to_owned())));
        if was == is {
            continue;
        }
        if is_tree(&entry) {
            let [was, is] = [was, is].map(|entry| entry.map(|(_, id)| id));
            between(git, was, is, &format!("{folder}{name}/"), changed)?;
        } else if is_markdown(name) {
            // A link or a submodule is not a document.
            let [was, is] = [was, is].map(|entry| entry.filter(|(mode, _)| mode.is_blob()));
            if was != is {
                changed.push(format!("{folder}{name}"));
            }
        }
    }
}

fn entries<'a>(
    git: &gix::Repository,
    tree: Option<ObjectId>,
    bytes: &'a mut Vec<u8>,
) -> Result<Vec<EntryRef<'a>>, Failure> {
    let Some(tree) = tree else { return Ok(Vec::new()) };
    let entries: TreeRefIter<'_> = git.objects.find_tree_iter(&tree, bytes).reading("a tree")?;
    entries.map(|entry| entry.reading("a tree")).collect()
}

fn utf8(name: &BStr) -> Option<&str> {
    name.to_str().ok()
}
