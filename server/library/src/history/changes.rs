//! Finds the documents that a commit changed.
//!
//! A commit changed a path if its content there, or its absence, differs from that of each parent; the first commit changed every
//! path in it. Without merges this is `git log -- PATH`. A merge counts only if it took neither side's bytes, and commits of both
//! sides count, including those of the side not taken: `git log --full-history -- PATH` without the merges for which
//! `git diff-tree -c` prints nothing.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    ops::ControlFlow,
    sync::Arc,
};

use gix::{ObjectId, bstr::ByteSlice};
use parking_lot::Mutex;
use tabellion_runtime::Failure;

use super::{
    super::{
        path::is_markdown,
        tree::{self, TreeEntry},
        tree_diff::{self, Budget},
    },
    ancestry::CommitData,
};

/// Budget of one commit for the cache. Half a million files in a first commit stay within it; so does the memory of the walk, which
/// is a few times as much.
pub(super) const OF_CACHE: Budget = Budget {
    tree_bytes: 32 << 20,
    // Few in tests, which gives their histories commits of both kinds.
    documents: if cfg!(test) { 1 } else { 10_000 },
};
/// Budget of one commit in memory, where many are kept.
pub(super) const IN_MEMORY: Budget =
    Budget { tree_bytes: 1 << 20, documents: if cfg!(test) { 1 } else { 100 } };
/// Represents any document, if a commit changed too many to list.
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

/// Returns the git paths of the Markdown files that a commit removed, compared with its first parent, and their contents.
pub(in super::super) fn removed_by(
    git: &gix::Repository,
    commit: ObjectId,
) -> Result<Vec<(String, ObjectId)>, Failure> {
    let Some(commit) = CommitData::read(git, commit)? else {
        return Ok(vec![]);
    };
    let Some(before) = trees_of_parents(git, &commit)?.first().copied() else {
        return Ok(vec![]);
    };
    let mut removed = vec![];
    let walked =
        tree_diff::walk(git, [Some(before), commit.tree], &mut OF_CACHE.clone(), |path, [was, is]| {
            if let (Ok(path), Some((mode, blob)), None) = (path.to_str(), was, is)
                && mode.is_blob()
                && is_markdown(path)
            {
                removed.push((path.to_owned(), blob));
            }
            ControlFlow::Continue(())
        });
    walked.map(|_| removed)
}

/// A document that a commit changed, or that its record names although its bytes are unchanged; or [`ANY`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in super::super) struct Touched {
    /// Its git path.
    pub(super) path: String,
    /// True if its bytes are unchanged.
    pub(super) is_same: bool,
}

impl Touched {
    /// Compares the entries of a document, which a commit's record names, in the trees before and after.
    pub(in super::super) fn new(path: &str, before: Option<TreeEntry>, after: Option<TreeEntry>) -> Self {
        Self { path: path.to_owned(), is_same: before == after || !is_markdown(path) }
    }
}

/// Maximum number of commits in [`Made`].
const MAX_MADE: usize = 4096;

/// The documents touched by this process's newest commits, noted on creation, which saves comparing their trees.
#[derive(Debug, Default)]
pub(super) struct Made(Mutex<Recent>);

#[derive(Debug, Default)]
struct Recent {
    /// Oldest first.
    commits: VecDeque<ObjectId>,
    touched: HashMap<ObjectId, Arc<[Touched]>>,
}

impl Made {
    /// Adds a commit, unless its documents are many.
    pub(super) fn add(&self, commit: ObjectId, touched: Vec<Touched>) {
        if touched.len() > IN_MEMORY.documents {
            return;
        }
        let mut recent = self.0.lock();
        if recent.touched.insert(commit, touched.into()).is_none() {
            recent.commits.push_back(commit);
        }
        if recent.commits.len() > MAX_MADE
            && let Some(oldest) = recent.commits.pop_front()
        {
            recent.touched.remove(&oldest);
        }
    }

    /// Returns the documents that the commit `id` [touched](touched).
    pub(super) fn touched(
        &self,
        git: &gix::Repository,
        id: ObjectId,
        commit: &CommitData,
        budget: Budget,
    ) -> Result<Vec<Touched>, Failure> {
        let made = self.0.lock().touched.get(&id).map(Arc::clone);
        let Some(made) = made else {
            return touched(git, commit, budget);
        };
        #[cfg(test)]
        {
            let sorted = |mut touched: Vec<Touched>| {
                touched.sort();
                touched
            };
            let compared = touched(git, commit, budget)?;
            assert_eq!(sorted(made.to_vec()), sorted(compared), "{id}");
        }
        Ok(made.to_vec())
    }
}

/// Returns the Markdown files that `commit` [changed](of_commit), or [`ANY`], and further documents that its record names.
fn touched(git: &gix::Repository, commit: &CommitData, budget: Budget) -> Result<Vec<Touched>, Failure> {
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

/// Implements [`History::since`](super::History::since).
pub(super) fn since(
    git: &gix::Repository,
    made: &Made,
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
        let touched = made.touched(git, next, &commit, OF_CACHE)?;
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
    let now = tree_entry(git, commit, path)?;
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

fn tree_entry(git: &gix::Repository, commit: &CommitData, path: &str) -> Result<Option<TreeEntry>, Failure> {
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
