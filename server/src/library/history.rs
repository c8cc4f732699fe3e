//! The log: the commits of ours that HEAD has, read from their messages.
//!
//! What was read stays in memory. When HEAD has moved on in a straight line only the new commits are read; when it went
//! elsewhere, or through a merge, the walk starts anew. It goes no further back than it is asked to.

use std::{
    collections::{BinaryHeap, HashMap, HashSet, VecDeque},
    sync::Arc,
};

use chrono::{DateTime, Utc};
use gix::ObjectId;
use tabellion_schemas::Failure;

use super::{
    commit_message::{EXTERNAL, Record},
    trouble::InRepository,
};

/// Commits that may lie between what we know and HEAD for it to be worth going on from there.
const FURTHEST_STRAIGHT: usize = 10_000;
/// How far apart clocks may be, in seconds.
const CLOCK_SKEW: i64 = 24 * 60 * 60;

/// One entry of the log: a change that a tool made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEntry {
    /// The commit that it is.
    pub commit: String,
    /// What was done, in one word.
    pub operation: String,
    /// The document, as the library names it.
    pub path: String,
    /// Name of the tool that was called.
    pub tool: String,
    /// The client's name and version, where it gave them.
    pub client: Option<String>,
    /// When, to the millisecond.
    pub time: DateTime<Utc>,
    /// What was done, in one line.
    pub summary: String,
    /// The caller's idempotency key.
    pub(super) key: Option<String>,
    /// Digest of the request that carried the key.
    pub(super) request: Option<String>,
}

/// The log of a library, as far as it was read.
#[derive(Debug)]
pub(super) struct History {
    prefix: String,
    head: Option<ObjectId>,
    /// Newest first.
    entries: VecDeque<Arc<LogEntry>>,
    by_key: HashMap<String, Arc<LogEntry>>,
    walk: Walk,
}

impl History {
    /// The log of the library at `prefix` in its repository. Nothing is read yet.
    pub(super) fn new(prefix: &str) -> Self {
        Self {
            prefix: prefix.to_owned(),
            head: None,
            entries: VecDeque::new(),
            by_key: HashMap::new(),
            walk: Walk::default(),
        }
    }

    /// The last `limit` entries that `head` has, oldest first.
    pub(super) fn last(
        &mut self,
        git: &gix::Repository,
        head: Option<ObjectId>,
        limit: usize,
    ) -> Result<Vec<LogEntry>, Failure> {
        self.go_to(git, head)?;
        while self.entries.len() < limit && self.read_on(git)? {}
        Ok(self
            .entries
            .iter()
            .take(limit)
            .rev()
            .map(|entry| LogEntry::clone(entry))
            .collect())
    }

    /// The entry that `head` has with this idempotency key.
    pub(super) fn with_key(
        &mut self,
        git: &gix::Repository,
        head: Option<ObjectId>,
        key: &str,
    ) -> Result<Option<Arc<LogEntry>>, Failure> {
        self.go_to(git, head)?;
        while !self.by_key.contains_key(key) && self.read_on(git)? {}
        Ok(self.by_key.get(key).map(Arc::clone))
    }

    fn go_to(&mut self, git: &gix::Repository, head: Option<ObjectId>) -> Result<(), Failure> {
        if self.head == head {
            return Ok(());
        }
        match self.straight_from(git, head)? {
            Some(newer) => {
                for (id, message) in newer.into_iter().rev() {
                    if let Some(entry) = self.entry(id, &message) {
                        self.remember(&entry);
                        self.entries.push_front(entry);
                    }
                }
            }
            None => {
                *self = Self::new(&self.prefix);
                if let Some(head) = head {
                    self.walk.visit(git, head)?;
                }
            }
        }
        self.head = head;
        Ok(())
    }

    /// The commits from `head` to where we were, newest first, if no merge is between.
    fn straight_from(
        &self,
        git: &gix::Repository,
        head: Option<ObjectId>,
    ) -> Result<Option<Vec<(ObjectId, String)>>, Failure> {
        let (Some(known), Some(mut at)) = (self.head, head) else {
            return Ok(None);
        };
        let mut newer = Vec::new();
        while at != known {
            let Some(commit) = CommitData::read(git, at)? else {
                return Ok(None);
            };
            let [parent] = commit.parents[..] else {
                return Ok(None);
            };
            if newer.len() == FURTHEST_STRAIGHT {
                return Ok(None);
            }
            newer.push((at, commit.message));
            at = parent;
        }
        Ok(Some(newer))
    }

    /// Reads one more commit; `false` when there is none.
    fn read_on(&mut self, git: &gix::Repository) -> Result<bool, Failure> {
        let Some((id, commit)) = self.walk.next(git)? else {
            return Ok(false);
        };
        if let Some(entry) = self.entry(id, &commit.message) {
            self.remember(&entry);
            self.entries.push_back(entry);
        }
        Ok(true)
    }

    fn remember(&mut self, entry: &Arc<LogEntry>) {
        if let Some(key) = &entry.key {
            self.by_key.insert(key.clone(), Arc::clone(entry));
        }
    }

    /// The log entry that a commit is, if it is one of this library.
    fn entry(&self, id: ObjectId, message: &str) -> Option<Arc<LogEntry>> {
        let record = Record::parse(message).filter(|record| record.operation != EXTERNAL)?;
        Some(Arc::new(LogEntry {
            commit: id.to_string(),
            path: record.path.strip_prefix(&self.prefix)?.to_owned(),
            operation: record.operation,
            tool: record.tool?,
            client: record.client,
            time: record.time,
            summary: record.summary,
            key: record.key,
            request: record.request,
        }))
    }
}

/// Whether `from` has `target` among its ancestors. Nothing behind `base`, an ancestor of `target`, is looked at.
pub(super) fn reaches(
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
    walk.seen.extend(base);
    walk.visit(git, from)?;
    while let Some((id, commit)) = walk.next(git)? {
        if id == target {
            return Ok(true);
        }
        if commit.time < made.time - CLOCK_SKEW {
            break;
        }
    }
    Ok(false)
}

/// A walk over all ancestors, newest first.
#[derive(Debug, Default)]
struct Walk {
    seen: HashSet<ObjectId>,
    to_come: BinaryHeap<(i64, ObjectId)>,
    read: HashMap<ObjectId, CommitData>,
}

impl Walk {
    fn visit(&mut self, git: &gix::Repository, id: ObjectId) -> Result<(), Failure> {
        if self.seen.insert(id)
            && let Some(commit) = CommitData::read(git, id)?
        {
            self.to_come.push((commit.time, id));
            self.read.insert(id, commit);
        }
        Ok(())
    }

    fn next(&mut self, git: &gix::Repository) -> Result<Option<(ObjectId, CommitData)>, Failure> {
        let Some((_, id)) = self.to_come.pop() else {
            return Ok(None);
        };
        let commit = self.read.remove(&id).expect("a commit to come was read");
        for parent in &commit.parents {
            self.visit(git, *parent)?;
        }
        Ok(Some((id, commit)))
    }
}

/// What a walk needs of a commit.
#[derive(Debug)]
struct CommitData {
    parents: Vec<ObjectId>,
    time: i64,
    message: String,
}

impl CommitData {
    /// The commit `id`; `None` where a shallow clone ends.
    fn read(git: &gix::Repository, id: ObjectId) -> Result<Option<Self>, Failure> {
        let Some(object) = git.try_find_object(id).reading("a commit")? else {
            return Ok(None);
        };
        let commit = object.try_into_commit().reading("a commit")?;
        Ok(Some(Self {
            parents: commit.parent_ids().map(gix::Id::detach).collect(),
            time: commit.time().map_or(0, |time| time.seconds),
            message: commit.message_raw_sloppy().to_string(),
        }))
    }
}

#[cfg(test)]
#[path = "tests/history.rs"]
mod tests;
