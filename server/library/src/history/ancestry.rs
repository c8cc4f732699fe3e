//! A commit's ancestors, newest first, read on demand.

use std::collections::{BinaryHeap, HashMap, hash_map};

use gix::{
    ObjectId,
    bstr::ByteSlice,
    objs::{CommitRefIter, commit::ref_iter::Token},
};
use tabellion_runtime::Failure;

use super::super::{commit_message::Record, failures::InRepository};

/// Tolerated difference between clocks, in seconds.
const CLOCK_SKEW: i64 = 24 * 60 * 60;
/// Contained in the message of each of the library's own commits.
const MARK: &[u8] = b"Tabellion-Operation:";
/// Represents the position of a commit not yet visited.
const TO_COME: u32 = u32::MAX;

/// A walk over all ancestors: of the commits whose children were visited, the newest is next. With wrong clocks, a commit may
/// be visited before one of its descendants.
#[derive(Debug, Default)]
pub(super) struct Walk {
    /// Position of each commit in the order of visits.
    seen: HashMap<ObjectId, u32>,
    to_come: BinaryHeap<(i64, ObjectId)>,
    read: HashMap<ObjectId, CommitData>,
    came: u32,
}

/// A visited commit.
#[derive(Debug)]
pub(super) struct Visited {
    /// Commit id.
    pub(super) id: ObjectId,
    /// Parsed commit.
    pub(super) commit: CommitData,
    /// True if this commit and those visited after it are exactly its ancestors and itself.
    pub(super) alone: bool,
    /// Set when the walk reaches an ancestor visited too early: the position of that one. No commit since then is `alone`.
    pub(super) not_alone_since: Option<u32>,
}

impl Walk {
    /// Starts a walk over `head` and its ancestors.
    pub(super) fn from(git: &gix::Repository, head: ObjectId) -> Result<Self, Failure> {
        let mut walk = Self::default();
        walk.visit(git, head)?;
        Ok(walk)
    }

    /// Returns the next commit, if all that follow are its ancestors.
    pub(super) fn only(&self) -> Option<ObjectId> {
        let next = self.to_come.peek().map(|(_, id)| *id);
        next.filter(|_| self.to_come.len() == 1)
    }

    pub(super) fn next(&mut self, git: &gix::Repository) -> Result<Option<Visited>, Failure> {
        let Some((_, id)) = self.to_come.pop() else {
            return Ok(None);
        };
        let alone = self.to_come.is_empty();
        let commit = self.read.remove(&id).expect("a commit to come was read");
        self.seen.insert(id, self.came);
        self.came += 1;
        let mut not_alone_since = None;
        for parent in &commit.parents {
            let place = self.visit(git, *parent)?;
            not_alone_since = not_alone_since.into_iter().chain(place).min();
        }
        Ok(Some(Visited { id, commit, alone: alone && not_alone_since.is_none(), not_alone_since }))
    }

    /// Adds `id` to the walk. Returns its position if it was visited already.
    fn visit(&mut self, git: &gix::Repository, id: ObjectId) -> Result<Option<u32>, Failure> {
        match self.seen.entry(id) {
            hash_map::Entry::Occupied(seen) => return Ok(Some(*seen.get()).filter(|place| *place != TO_COME)),
            hash_map::Entry::Vacant(unseen) => unseen.insert(TO_COME),
        };
        if let Some(commit) = CommitData::read(git, id)? {
            self.to_come.push((commit.time, id));
            self.read.insert(id, commit);
        }
        Ok(None)
    }
}

/// The parts of a commit that a walk needs.
#[derive(Debug)]
pub(super) struct CommitData {
    pub(super) parents: Vec<ObjectId>,
    pub(super) tree: Option<ObjectId>,
    pub(super) time: i64,
    /// The record, if the commit is one of the library's own.
    pub(super) record: Option<Record>,
}

impl CommitData {
    /// Reads the commit `id`; `None` at the end of a shallow clone.
    pub(super) fn read(git: &gix::Repository, id: ObjectId) -> Result<Option<Self>, Failure> {
        let Some(object) = git.try_find_object(id).reading("a commit")? else {
            return Ok(None);
        };
        let object = object.try_into_commit().reading("a commit")?;
        let mut commit = Self { parents: Vec::new(), tree: None, time: 0, record: None };
        // A malformed commit counts as far as it is readable.
        for token in CommitRefIter::from_bytes(&object.data, id.kind()).map_while(Result::ok) {
            match token {
                Token::Tree { id } => commit.tree = Some(id),
                Token::Parent { id } => commit.parents.push(id),
                Token::Committer { signature } => {
                    commit.time = signature.time().map_or(0, |time| time.seconds)
                }
                _ => {}
            }
        }
        if object.data.contains_str(MARK) {
            commit.record = Record::parse(&object.message_raw_sloppy().to_str_lossy());
        }
        Ok(Some(commit))
    }
}

/// Returns true if `target` is an ancestor of `from`. Does not look behind `base`, an ancestor of `target`.
pub(crate) fn reaches(
    git: &gix::Repository,
    from: ObjectId,
    target: ObjectId,
    base: Option<ObjectId>,
) -> Result<bool, Failure> {
    if from == target {
        return Ok(true);
    }
    let Some(made) = CommitData::read(git, target)? else {
        return Ok(false);
    };
    let mut walk = Walk::default();
    walk.seen.extend(base.map(|base| (base, TO_COME)));
    walk.visit(git, from)?;
    while let Some(visited) = walk.next(git)? {
        if visited.id == target {
            return Ok(true);
        }
        if visited.commit.time < made.time - CLOCK_SKEW {
            break;
        }
    }
    Ok(false)
}

#[cfg(test)]
#[path = "tests/ancestry.rs"]
mod tests;
