//! The newest part of a history: what was read of it since HEAD was last seen, down to where the cache goes on.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use gix::ObjectId;
use tabellion_runtime::Failure;

use super::{
    LogEntry,
    ancestry::{CommitData, Walk},
    cache::{Cache, CacheError, Meeting},
};

/// Commits that may lie between what we know and HEAD for it to be worth going on from there.
const FURTHEST_STRAIGHT: usize = 10_000;

/// Why an answer could not be had.
#[derive(Debug)]
pub(super) enum Stop {
    /// The history can't be read.
    Failure(Failure),
    /// The cache is of no use; it is to be had without.
    Cache(CacheError),
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

impl From<CacheError> for Stop {
    fn from(error: CacheError) -> Self {
        Self::Cache(error)
    }
}

/// What came of reading one more commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// It is in the front now.
    Commit,
    /// There is none.
    End,
    /// This one, and all that follow, are in the cache.
    Cache(ObjectId),
}

/// The newest part of a history, newest first.
#[derive(Debug, Default)]
pub(super) struct Front {
    prefix: String,
    head: Option<ObjectId>,
    pub(super) commits: VecDeque<ObjectId>,
    pub(super) entries: VecDeque<Arc<LogEntry>>,
    by_key: HashMap<String, Arc<LogEntry>>,
    walk: Walk,
    /// Where the cache goes on.
    joined: Option<ObjectId>,
    /// The cache has it in another order: it is read without.
    apart: bool,
}

impl Front {
    /// The front of the library at `prefix` in its repository. Nothing is read yet.
    pub(super) fn new(prefix: &str) -> Self {
        Self {
            prefix: prefix.to_owned(),
            ..Self::default()
        }
    }

    /// The entry in the front that has this idempotency key; the newest one if there are several.
    pub(super) fn with_key(&self, key: &str) -> Option<Arc<LogEntry>> {
        self.by_key.get(key).map(Arc::clone)
    }

    /// Forgets what was read: it is now cheaper to read it anew.
    pub(super) fn clear(&mut self) {
        *self = Self::new(&self.prefix);
    }

    /// Makes it the front of `head`'s history.
    pub(super) fn go_to(&mut self, git: &gix::Repository, head: Option<ObjectId>) -> Result<(), Failure> {
        if self.head == head {
            return Ok(());
        }
        match self.straight_from(git, head)? {
            Some(newer) => {
                for (id, commit) in newer.into_iter().rev() {
                    self.commits.push_front(id);
                    if let Some(entry) = self.entry(id, commit) {
                        if let Some(key) = &entry.key {
                            self.by_key.insert(key.clone(), Arc::clone(&entry));
                        }
                        self.entries.push_front(entry);
                    }
                }
            }
            None => {
                self.clear();
                if let Some(head) = head {
                    self.walk = Walk::from(git, head)?;
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
    ) -> Result<Option<Vec<(ObjectId, CommitData)>>, Failure> {
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
            newer.push((at, commit));
            at = parent;
        }
        Ok(Some(newer))
    }

    /// Reads one more commit.
    pub(super) fn read_on(&mut self, git: &gix::Repository, cache: Option<&Cache>) -> Result<Next, Stop> {
        if let Some(commit) = self.joined {
            return Ok(Next::Cache(commit));
        }
        if let (Some(next), Some(cache), false) = (self.walk.only(), cache, self.apart) {
            match cache.meets(self.commits.iter().copied(), next)? {
                Meeting::At(_) => {
                    self.joined = Some(next);
                    // All that the walk knows is only for going on with it.
                    self.walk = Walk::default();
                    return Ok(Next::Cache(next));
                }
                Meeting::Nowhere => self.apart = true,
                Meeting::NotHere => {}
            }
        }
        let Some(visited) = self.walk.next(git)? else {
            return Ok(Next::End);
        };
        self.commits.push_back(visited.id);
        if let Some(entry) = self.entry(visited.id, visited.commit) {
            if let Some(key) = &entry.key {
                self.by_key
                    .entry(key.clone())
                    .or_insert_with(|| Arc::clone(&entry));
            }
            self.entries.push_back(entry);
        }
        Ok(Next::Commit)
    }

    fn entry(&self, id: ObjectId, commit: CommitData) -> Option<Arc<LogEntry>> {
        LogEntry::of(id, commit.record?, &self.prefix).map(Arc::new)
    }
}
