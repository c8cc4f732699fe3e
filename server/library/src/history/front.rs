//! The newest part of a history, in memory: from HEAD down to where the cache continues.

use std::{
    cell::OnceCell,
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use gix::ObjectId;
use tabellion_runtime::Failure;

use super::{
    ancestry::{CommitData, Walk},
    cache::{Cache, CacheError, Meeting},
    changes::{self, Made, Touched},
    entry::LogEntry,
};

/// Upper bound of commits between the known head and HEAD; beyond it, reading again is cheaper.
const MAX_STRAIGHT_COMMITS: usize = 10_000;

/// Error when reading a history.
#[derive(Debug)]
pub(super) enum ReadError {
    /// The history can't be read.
    Failure(Failure),
    /// The cache can't be used; the answer is available without it.
    Cache(CacheError),
}

impl From<Failure> for ReadError {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

impl From<CacheError> for ReadError {
    fn from(error: CacheError) -> Self {
        Self::Cache(error)
    }
}

/// The result of reading one more commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReadStep {
    /// A commit was added to the front.
    Commit,
    /// The history ends.
    End,
    /// This commit and all that follow are in the cache.
    Cache(ObjectId),
}

#[derive(Debug)]
pub(super) struct FrontCommit {
    pub(super) id: ObjectId,
    /// Its parent, if it has only one.
    pub(super) parent: Option<ObjectId>,
    /// The documents that it changed or names, once requested.
    touched: OnceCell<Vec<Touched>>,
}

impl FrontCommit {
    fn new(id: ObjectId, commit: &CommitData) -> Self {
        let parent = match commit.parents[..] {
            [parent] => Some(parent),
            _ => None,
        };
        Self { id, parent, touched: OnceCell::new() }
    }

    /// Returns true if it changed or names the document at a git path.
    pub(super) fn touches(&self, git: &gix::Repository, made: &Made, path: &str) -> Result<bool, Failure> {
        let touched = match self.touched.get() {
            Some(touched) => touched,
            None => {
                let commit = CommitData::read(git, self.id)?;
                let touched = commit.map(|commit| made.touched(git, self.id, &commit, changes::IN_MEMORY));
                let touched = touched.transpose()?;
                self.touched.get_or_init(|| touched.unwrap_or_default())
            }
        };
        let has = |name: &str| touched.iter().any(|touched| touched.path == name);
        if has(path) || !has(changes::ANY) {
            return Ok(has(path));
        }
        let commit = CommitData::read(git, self.id)?;
        commit.map_or(Ok(false), |commit| changes::touches(git, &commit, path))
    }
}

/// The newest part of a history, newest first.
#[derive(Debug, Default)]
pub(super) struct Front {
    prefix: String,
    head: Option<ObjectId>,
    pub(super) commits: VecDeque<FrontCommit>,
    pub(super) entries: VecDeque<Arc<LogEntry>>,
    by_key: HashMap<String, Arc<LogEntry>>,
    walk: Walk,
    /// The commit at which the cache continues.
    joined: Option<ObjectId>,
    /// The cache has another order and is not used.
    apart: bool,
}

impl Front {
    /// Creates the empty front of the library at `prefix`.
    pub(super) fn new(prefix: &str) -> Self {
        Self { prefix: prefix.to_owned(), ..Self::default() }
    }

    /// Returns the newest entry in the front with this idempotency key.
    pub(super) fn with_key(&self, key: &str) -> Option<Arc<LogEntry>> {
        self.by_key.get(key).map(Arc::clone)
    }

    /// Drops everything, because reading it again is now cheaper.
    pub(super) fn clear(&mut self) {
        *self = Self::new(&self.prefix);
    }

    /// Updates the front to `head`.
    pub(super) fn go_to(&mut self, git: &gix::Repository, head: Option<ObjectId>) -> Result<(), Failure> {
        if self.head == head {
            return Ok(());
        }
        match self.straight_from(git, head)? {
            Some(newer) => {
                for (id, commit) in newer.into_iter().rev() {
                    self.commits.push_front(FrontCommit::new(id, &commit));
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

    /// Returns the commits from `head` to the known head, newest first, if no merge is between them.
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
            if newer.len() == MAX_STRAIGHT_COMMITS {
                return Ok(None);
            }
            newer.push((at, commit));
            at = parent;
        }
        Ok(Some(newer))
    }

    /// Reads one more commit.
    pub(super) fn read_on(
        &mut self,
        git: &gix::Repository,
        cache: Option<&Cache>,
    ) -> Result<ReadStep, ReadError> {
        if let Some(commit) = self.joined {
            return Ok(ReadStep::Cache(commit));
        }
        if let (Some(next), Some(cache), false) = (self.walk.only(), cache, self.apart) {
            match cache.meets(self.commits.iter().map(|commit| commit.id), next)? {
                Meeting::At(_) => {
                    self.joined = Some(next);
                    // The walk's state is needed only to continue it.
                    self.walk = Walk::default();
                    return Ok(ReadStep::Cache(next));
                }
                Meeting::Nowhere => self.apart = true,
                Meeting::NotHere => {}
            }
        }
        let Some(visited) = self.walk.next(git)? else {
            return Ok(ReadStep::End);
        };
        self.commits.push_back(FrontCommit::new(visited.id, &visited.commit));
        if let Some(entry) = self.entry(visited.id, visited.commit) {
            if let Some(key) = &entry.key {
                self.by_key.entry(key.clone()).or_insert_with(|| Arc::clone(&entry));
            }
            self.entries.push_back(entry);
        }
        Ok(ReadStep::Commit)
    }

    fn entry(&self, id: ObjectId, commit: CommitData) -> Option<Arc<LogEntry>> {
        LogEntry::from_record(id, commit.record?, &self.prefix).map(Arc::new)
    }
}
