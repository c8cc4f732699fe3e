//! The log: the commits of ours that HEAD has, and which commit changed a document last.
//!
//! Git's history alone decides. [`front`] reads it from HEAD on, no further back than an answer needs, and as soon as it
//! comes to a commit from which on the history is in the cache on the disk ([`cache`]), the rest is asked there. Without
//! a cache everything is answered all the same, only slower: what was read then stays in memory. The cache is brought up
//! to HEAD ([`build`]) by a thread of its own ([`keeper`]), never by whoever asks or changes something.

mod ancestry;
mod build;
mod cache;
mod changes;
mod front;
mod keeper;

use std::{path::Path, sync::Arc};

use chrono::{DateTime, Utc};
use gix::ObjectId;
use parking_lot::{Mutex, MutexGuard};
use tabellion_runtime::Failure;

pub(super) use self::ancestry::reaches;
use self::{
    ancestry::CommitData,
    cache::Cache,
    front::{Front, Next, Stop},
    keeper::Keeper,
};
use super::{
    commit_message::{EXTERNAL, Record},
    repository::Repository,
};

/// Name of the cache in our own folder.
const CACHE: &str = "log.sqlite";
/// Commits that are read before it is worth opening a cache that another process wrote.
const NEAR: usize = 256;
/// Commits of the cache that are looked at in git at a time.
const STRIDE: i64 = 1000;

/// One entry of the log: a change that a tool made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEntry {
    /// The commit that it is.
    pub commit: String,
    /// What was done, in one word.
    pub operation: String,
    /// The documents, at least one, as the library names them.
    pub paths: Vec<String>,
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

impl LogEntry {
    /// The entry that the commit `id` is, if it is one of the library at `prefix`.
    fn of(id: ObjectId, record: Record, prefix: &str) -> Option<Self> {
        // The first document decides whose library's entry it is.
        if !is_entry(&record) || !record.paths[0].starts_with(prefix) {
            return None;
        }
        let paths = record.paths.iter().filter_map(|path| path.strip_prefix(prefix));
        Some(Self {
            commit: id.to_string(),
            paths: paths.map(ToOwned::to_owned).collect(),
            operation: record.operation,
            tool: record.tool?,
            client: record.client,
            time: record.time,
            summary: record.summary,
            key: record.key,
            request: record.request,
        })
    }
}

/// Whether a commit of ours is an entry of some library's log.
fn is_entry(record: &Record) -> bool {
    record.operation != EXTERNAL && record.tool.is_some()
}

/// The history of a library's repository.
pub(super) struct History {
    prefix: String,
    known: Arc<Mutex<Known>>,
    keeper: Arc<Keeper>,
}

/// What this process knows of the history.
struct Known {
    front: Front,
    cache: Slot,
}

enum Slot {
    /// Not worth opening yet.
    Closed,
    /// To be opened, and checked if it is not known who wrote it.
    Wanted { check: bool },
    /// Open.
    Open(Cache),
    /// Of no use, before the keeper says that it is.
    Unusable,
}

impl Known {
    /// Whether so much was read without a cache that it should be looked for.
    fn is_far(&mut self) -> bool {
        let far = matches!(self.cache, Slot::Closed) && self.front.commits.len() >= NEAR;
        if far {
            self.cache = Slot::Wanted { check: true };
        }
        far
    }

    /// Takes the cache out, if there is one to use.
    fn take_cache(&mut self, file: &Path) -> Option<Cache> {
        match std::mem::replace(&mut self.cache, Slot::Unusable) {
            Slot::Open(cache) => Some(cache),
            Slot::Wanted { check } => {
                let opened = Cache::open(file, check);
                opened
                    .inspect_err(|error| tracing::debug!(%error, "the log's cache is not used"))
                    .ok()
            }
            Slot::Closed => {
                self.cache = Slot::Closed;
                None
            }
            Slot::Unusable => None,
        }
    }

    /// The cache is up to HEAD: what it has need not be in memory. `anew`: it is another file.
    fn renew(&mut self, anew: bool) {
        self.front.clear();
        if anew || !matches!(self.cache, Slot::Open(_)) {
            self.cache = Slot::Wanted { check: false };
        }
    }
}

impl History {
    /// The history of the library in `repository`. Nothing is read yet.
    pub(super) fn new(repository: &Repository) -> Self {
        let known = Known {
            front: Front::new(repository.prefix()),
            cache: Slot::Closed,
        };
        let known = Arc::new(Mutex::new(known));
        let keepers = Arc::clone(&known);
        let caught_up = Box::new(move |anew| keepers.lock().renew(anew));
        Self {
            prefix: repository.prefix().to_owned(),
            known,
            keeper: Arc::new(Keeper::new(repository.shared(), repository.own(CACHE), caught_up)),
        }
    }

    /// The last `limit` entries that `head` has, oldest first.
    pub(super) fn last(
        &self,
        git: &gix::Repository,
        head: Option<ObjectId>,
        limit: usize,
    ) -> Result<Vec<LogEntry>, Failure> {
        self.ask(git, head, |known, cache| {
            let mut rest = Vec::new();
            while known.front.entries.len() < limit {
                match known.front.read_on(git, cache)? {
                    Next::Commit if known.is_far() => return Ok(None),
                    Next::Commit => {}
                    Next::End => break,
                    Next::Cache(commit) => {
                        let Some((cache, place)) = joined(cache, commit)? else {
                            return Ok(None);
                        };
                        rest = cache.entries(place, &self.prefix, limit - known.front.entries.len())?;
                        break;
                    }
                }
            }
            let newest = known
                .front
                .entries
                .iter()
                .take(limit)
                .map(|entry| LogEntry::clone(entry));
            let mut entries: Vec<_> = newest.chain(rest).collect();
            entries.reverse();
            Ok(Some(entries))
        })
    }

    /// The newest entry that `head` has with this idempotency key. That there is none is said only after the whole
    /// history has been seen.
    pub(super) fn with_key(
        &self,
        git: &gix::Repository,
        head: Option<ObjectId>,
        key: &str,
    ) -> Result<Option<Arc<LogEntry>>, Failure> {
        self.ask(git, head, |known, cache| {
            loop {
                if let Some(entry) = known.front.with_key(key) {
                    return Ok(Some(Some(entry)));
                }
                match known.front.read_on(git, cache)? {
                    Next::Commit if known.is_far() => return Ok(None),
                    Next::Commit => {}
                    Next::End => return Ok(Some(None)),
                    Next::Cache(commit) => {
                        let Some((cache, place)) = joined(cache, commit)? else {
                            return Ok(None);
                        };
                        return Ok(Some(
                            cache.entry_with_key(place, &self.prefix, key)?.map(Arc::new),
                        ));
                    }
                }
            }
        })
    }

    /// The newest commit that `head` has and that changed the file which git calls `path`.
    pub(super) fn last_commit(
        &self,
        git: &gix::Repository,
        head: Option<ObjectId>,
        path: &str,
    ) -> Result<Option<ObjectId>, Failure> {
        let touches = |commit: ObjectId| match CommitData::read(git, commit)? {
            Some(data) => changes::touches(git, &data, path),
            None => Ok(false),
        };
        self.ask(git, head, |known, cache| {
            let mut at = 0;
            loop {
                while let Some(commit) = known.front.commits.get(at) {
                    if touches(*commit)? {
                        return Ok(Some(Some(*commit)));
                    }
                    at += 1;
                }
                match known.front.read_on(git, cache)? {
                    Next::Commit if known.is_far() => return Ok(None),
                    Next::Commit => {}
                    Next::End => return Ok(Some(None)),
                    Next::Cache(commit) => {
                        let Some((cache, place)) = joined(cache, commit)? else {
                            return Ok(None);
                        };
                        if let Some(commit) = cache.last_change(place, path)? {
                            return Ok(Some(Some(commit)));
                        }
                        let state = cache.state()?.ok_or(cache::CacheError::Content)?;
                        let mut place = place.max(state.changes_before);
                        loop {
                            let commits = cache.commits(place, STRIDE)?;
                            if commits.is_empty() {
                                return Ok(Some(None));
                            }
                            place += STRIDE;
                            for commit in commits {
                                if touches(commit)? {
                                    return Ok(Some(Some(commit)));
                                }
                            }
                        }
                    }
                }
            }
        })
    }

    /// Says that there is a new commit. Waits for nothing.
    pub(super) fn has_grown(&self) {
        self.keeper.wake(false);
    }

    /// Has `read` answer from what is known, until it does: it gives `None` when it has to begin anew, because the cache
    /// is worth opening now or is no longer what it was.
    fn ask<T>(
        &self,
        git: &gix::Repository,
        head: Option<ObjectId>,
        read: impl Fn(&mut Known, Option<&Cache>) -> Result<Option<T>, Stop>,
    ) -> Result<T, Failure> {
        let mut known = self.known();
        loop {
            known.front.go_to(git, head)?;
            let cache = known.take_cache(self.keeper.file());
            let read = match &cache {
                Some(open) => open.at_once(|| read(&mut known, Some(open))),
                None => read(&mut known, None),
            };
            let is_behind = cache.is_none() || !known.front.commits.is_empty();
            if let Some(cache) = cache {
                known.cache = Slot::Open(cache);
            }
            match read {
                Ok(Some(answer)) => {
                    drop(known);
                    if is_behind {
                        self.keeper.wake(false);
                    }
                    return Ok(answer);
                }
                Ok(None) => known.front.clear(),
                Err(Stop::Failure(failure)) => return Err(failure),
                Err(Stop::Cache(error)) => {
                    tracing::debug!(%error, "the log's cache is not used");
                    known.cache = Slot::Unusable;
                    known.front.clear();
                    self.keeper.wake(true);
                }
            }
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock()
    }
}

impl Drop for History {
    fn drop(&mut self) {
        self.keeper.stop();
    }
}

/// Where a walk that is at `commit` goes on in the cache, if it can.
fn joined(
    cache: Option<&Cache>,
    commit: ObjectId,
) -> Result<Option<(&Cache, cache::Place)>, cache::CacheError> {
    let Some(cache) = cache else { return Ok(None) };
    Ok(cache.alone(commit)?.map(|place| (cache, place)))
}

#[cfg(test)]
mod tests;
