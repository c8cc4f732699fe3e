//! Finds the documents that a commit changed.
//!
//! A commit changed a path if its content there, a file or nothing, differs from that of each parent; the first commit
//! changed everything in it. Without merges this is `git log -- PATH`. A merge counts only if it took neither side's bytes,
//! and commits of both sides count, including those of the side not taken: `git log --full-history -- PATH` without the
//! merges for which `git diff-tree -c` prints nothing.

use std::collections::HashSet;

use gix::ObjectId;
use tabellion_runtime::Failure;

use super::{
    super::{
        tree::{self, TreeEntry},
        tree_diff::{self, Budget},
    },
    ancestry::CommitData,
};

/// Budget of one commit for the cache. Half a million files in a first commit stay within it; the memory of the walk, a few
/// times as much, does too.
pub(super) const OF_CACHE: Budget = Budget {
    tree_bytes: 32 << 20,
    // Few in tests, so that their histories have commits of both kinds.
    documents: if cfg!(test) { 1 } else { 10_000 },
};
/// Budget of one commit in memory, where many are kept.
pub(super) const IN_MEMORY: Budget = Budget {
    tree_bytes: 1 << 20,
    documents: if cfg!(test) { 1 } else { 100 },
};
/// Stands for any document, where a commit changed too many to list.
pub(super) const ANY: &str = "";

/// Returns the git paths of the Markdown files that `commit` changed, in no order; `None` if `budget` does not suffice.
pub(super) fn of_commit(
    git: &gix::Repository,
    commit: &CommitData,
    mut budget: Budget,
) -> Result<Option<Vec<String>>, Failure> {
    let parents = trees_of_parents(git, commit)?;
    let (first, others) = match parents.split_first() {
        Some((first, others)) => (Some(*first), others),
        None => (None, &[][..]),
    };
    let mut changed = tree_diff::between(git, first, commit.tree, &mut budget)?;
    for other in others {
        if changed.truncated || changed.paths.is_empty() {
            break;
        }
        let beside = tree_diff::between(git, Some(*other), commit.tree, &mut budget)?;
        changed.truncated = beside.truncated;
        let beside: HashSet<_> = beside.paths.into_iter().collect();
        changed.paths.retain(|path| beside.contains(path));
    }
    Ok((!changed.truncated).then_some(changed.paths))
}

/// A document that a commit changed, or that its record names although its bytes stayed as they were; or [`ANY`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Touched {
    /// Its git path.
    pub(super) path: String,
    /// Whether its bytes stayed as they were.
    pub(super) is_same: bool,
}

/// Returns the Markdown files that `commit` [changed](of_commit), or [`ANY`], and the documents that its record names besides.
pub(super) fn touched(
    git: &gix::Repository,
    commit: &CommitData,
    budget: Budget,
) -> Result<Vec<Touched>, Failure> {
    let changed = of_commit(git, commit, budget)?.unwrap_or_else(|| vec![ANY.to_owned()]);
    let mut known: HashSet<_> = changed.iter().map(String::as_str).collect();
    let named = commit.record.iter().flat_map(|record| &record.paths);
    let same: Vec<_> = named.filter(|path| known.insert(path)).cloned().collect();
    let touched = |is_same| move |path| Touched { path, is_same };
    let changed = changed.into_iter().map(touched(false));
    Ok(changed.chain(same.into_iter().map(touched(true))).collect())
}

/// Maximum number of commits that [`since`] reads: beyond it, looking at single documents is cheaper.
const MAX_COMMITS: usize = 1000;

/// Returns the git paths of the Markdown files that commits after `known`, up to `head`, changed or named; `None` if there may be others:
/// `head` is not a line of commits from `known`, or they are too many.
pub(in super::super) fn since(
    git: &gix::Repository,
    known: ObjectId,
    head: ObjectId,
) -> Result<Option<HashSet<String>>, Failure> {
    let (mut paths, mut next) = (HashSet::new(), head);
    for _ in 0..MAX_COMMITS {
        if next == known {
            return Ok(Some(paths));
        }
        let Some(commit) = CommitData::read(git, next)? else {
            break;
        };
        let [parent] = commit.parents[..] else { break };
        let touched = touched(git, &commit, OF_CACHE)?;
        if touched.iter().any(|touched| touched.path == ANY) {
            break;
        }
        paths.extend(touched.into_iter().map(|touched| touched.path));
        next = parent;
    }
    Ok(None)
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
