//! The log: the library's own commits in HEAD's history.
//!
//! Git's history is the only source of truth. [`front`] reads it from HEAD, no further than an answer needs; where the on-disk
//! cache ([`cache`]) continues the walk, the rest is read there. Without a cache everything works, only slower: the commits read so
//! far stay in memory. A background thread ([`keeper`]) brings the cache up to HEAD ([`build`]); readers and writers never do.

mod agreement;
mod ancestry;
mod build;
mod cache;
mod changes;
mod entry;
mod find;
mod front;
mod keeper;

use std::{collections::HashSet, path::Path, sync::Arc};

use gix::ObjectId;
use parking_lot::Mutex;
use tabellion_runtime::Failure;

pub use self::agreement::{Agreement, CacheState};
pub use self::entry::LogEntry;
pub use self::find::FindEntryError;
pub(super) use self::{
    agreement::agreement, ancestry::reaches, changes::Touched, changes::removed_by, find::find,
    keeper::attempts,
};
use self::{
    cache::Cache,
    changes::Made,
    front::{Front, FrontCommit, ReadError, ReadStep},
    keeper::Keeper,
};
use super::{path::is_markdown, repository::Repository};

/// Name of the cache file in our own folder.
pub(super) const CACHE: &str = "log.sqlite";
/// Number of commits read before opening a cache that another process wrote.
const UNCACHED_COMMITS: usize = 256;

/// The history of a library's repository.
pub(super) struct History {
    prefix: String,
    known: Arc<Mutex<HistoryState>>,
    keeper: Arc<Keeper>,
    made: Arc<Made>,
}

/// The part of the history that this process has read.
struct HistoryState {
    front: Front,
    cache: Slot,
}

enum Slot {
    /// Not worth opening yet.
    Closed,
    /// To be opened, and verified if its writer is unknown.
    Wanted {
        check: bool,
    },
    Open(Cache),
    /// Unusable until the keeper has repaired it.
    Unusable,
}

impl HistoryState {
    /// Returns true if so many commits were read without a cache that it should be opened.
    fn is_far(&mut self) -> bool {
        let far = matches!(self.cache, Slot::Closed) && self.front.commits.len() >= UNCACHED_COMMITS;
        if far {
            self.cache = Slot::Wanted { check: true };
        }
        far
    }

    /// Takes the cache, if it can be used.
    fn take_cache(&mut self, file: &Path) -> Option<Cache> {
        match std::mem::replace(&mut self.cache, Slot::Unusable) {
            Slot::Open(cache) => Some(cache),
            Slot::Wanted { check } => {
                let opened = Cache::open(file, check);
                opened.inspect_err(|error| tracing::debug!(%error, "the log's cache is not used")).ok()
            }
            Slot::Closed => {
                self.cache = Slot::Closed;
                None
            }
            Slot::Unusable => None,
        }
    }

    /// The keeper has brought the cache up to HEAD: drops its content from memory. `anew` is true if it is a new file.
    fn renew(&mut self, anew: bool) {
        self.front.clear();
        if anew || !matches!(self.cache, Slot::Open(_)) {
            self.cache = Slot::Wanted { check: false };
        }
    }
}

impl History {
    /// Creates the history of the library in `repository`, without reading it yet.
    pub(super) fn new(repository: &Repository) -> Self {
        let known = HistoryState { front: Front::new(repository.prefix()), cache: Slot::Closed };
        let known = Arc::new(Mutex::new(known));
        let made = Arc::<Made>::default();
        let keepers = Arc::clone(&known);
        let caught_up = Box::new(move |anew| keepers.lock().renew(anew));
        Self {
            prefix: repository.prefix().to_owned(),
            known,
            keeper: Arc::new(Keeper::new(
                repository.shared(),
                repository.own(CACHE),
                Arc::clone(&made),
                caught_up,
            )),
            made,
        }
    }

    /// Returns the last `limit` entries in `head`'s history, oldest first.
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
                    ReadStep::Commit if known.is_far() => return Ok(None),
                    ReadStep::Commit => {}
                    ReadStep::End => break,
                    ReadStep::Cache(commit) => {
                        let Some((cache, place)) = joined(cache, commit)? else {
                            return Ok(None);
                        };
                        rest = cache.entries(place, &self.prefix, limit - known.front.entries.len())?;
                        break;
                    }
                }
            }
            let newest = known.front.entries.iter().take(limit).map(|entry| LogEntry::clone(entry));
            let mut entries: Vec<_> = newest.chain(rest).collect();
            entries.reverse();
            Ok(Some(entries))
        })
    }

    /// Returns the newest entry in `head`'s history with this idempotency key. `None` is returned only after the whole
    /// history was read.
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
                    ReadStep::Commit if known.is_far() => return Ok(None),
                    ReadStep::Commit => {}
                    ReadStep::End => return Ok(Some(None)),
                    ReadStep::Cache(commit) => {
                        let Some((cache, place)) = joined(cache, commit)? else {
                            return Ok(None);
                        };
                        return Ok(Some(cache.entry_with_key(place, &self.prefix, key)?.map(Arc::new)));
                    }
                }
            }
        })
    }

    /// Follows the commits from `from` back, each the only parent of the one before, as long as they are known to have neither
    /// changed nor named the Markdown file at the git path `path`; returns the last one, whose file is that of `from`. Ends at the
    /// first of the commits `known`. `from` is in `head`'s history.
    pub(super) fn unchanged_from(
        &self,
        git: &gix::Repository,
        head: Option<ObjectId>,
        from: ObjectId,
        path: &str,
        known: &[ObjectId],
    ) -> Result<ObjectId, Failure> {
        if !is_markdown(path) {
            return Ok(from);
        }
        self.ask(git, head, |state, cache| {
            let (mut at, mut line) = (0, Line::new(from));
            loop {
                while let Some(commit) = state.front.commits.get(at) {
                    if line.goes_on_at(commit.id) {
                        if known.contains(&commit.id) || commit.touches(git, &self.made, path)? {
                            return Ok(Some(commit.id));
                        }
                        line.passed(commit);
                    } else if line.has_begun {
                        return Ok(Some(line.last));
                    }
                    at += 1;
                }
                match state.front.read_on(git, cache)? {
                    ReadStep::Commit if state.is_far() => return Ok(None),
                    ReadStep::Commit => {}
                    ReadStep::End => return Ok(Some(line.last)),
                    ReadStep::Cache(commit) => {
                        let Some((cache, place)) = joined(cache, commit)? else {
                            return Ok(None);
                        };
                        let place = if line.has_begun {
                            Some(place).filter(|_| line.goes_on_at(commit))
                        } else {
                            cache.alone(from)?.filter(|at| *at >= place)
                        };
                        let Some(place) = place else {
                            return Ok(Some(line.last));
                        };
                        let end = cache.unchanged_from(place, path, known)?;
                        return Ok(Some(end.unwrap_or(line.last)));
                    }
                }
            }
        })
    }

    /// Reports new commits, and the documents that each touched. Does not wait.
    pub(super) fn has_grown(&self, commits: Vec<(ObjectId, Vec<Touched>)>) {
        for (commit, touched) in commits {
            self.made.add(commit, touched);
        }
        self.keeper.wake(false);
    }

    /// Returns the git paths of the Markdown files that commits after `known`, up to `head`, changed or named; `None` if there may
    /// be others: `head` is not a line of commits from `known`, or they are too many.
    pub(super) fn since(
        &self,
        git: &gix::Repository,
        known: ObjectId,
        head: ObjectId,
    ) -> Result<Option<HashSet<String>>, Failure> {
        changes::since(git, &self.made, known, head)
    }

    /// Runs `read` until it answers. It returns `None` to start again, because the cache is now worth opening or has changed.
    fn ask<T>(
        &self,
        git: &gix::Repository,
        head: Option<ObjectId>,
        read: impl Fn(&mut HistoryState, Option<&Cache>) -> Result<Option<T>, ReadError>,
    ) -> Result<T, Failure> {
        let mut known = self.known.lock();
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
                Err(ReadError::Failure(failure)) => return Err(failure),
                Err(ReadError::Cache(error)) => {
                    tracing::debug!(%error, "the log's cache is not used");
                    known.cache = Slot::Unusable;
                    known.front.clear();
                    self.keeper.wake(true);
                }
            }
        }
    }
}

impl Drop for History {
    fn drop(&mut self) {
        self.keeper.stop();
    }
}

/// A followed line of commits, each the only parent of the one before.
struct Line {
    /// The first one, and then the last one that was passed.
    last: ObjectId,
    has_begun: bool,
    /// The next commit of the line, if there is exactly one.
    next: Option<ObjectId>,
}

impl Line {
    fn new(first: ObjectId) -> Self {
        Self { last: first, has_begun: false, next: Some(first) }
    }

    fn goes_on_at(&self, commit: ObjectId) -> bool {
        self.next == Some(commit)
    }

    fn passed(&mut self, commit: &FrontCommit) {
        self.last = commit.id;
        self.has_begun = true;
        self.next = commit.parent;
    }
}

/// Returns the position at which a walk at `commit` continues in the cache, if it does.
fn joined(
    cache: Option<&Cache>,
    commit: ObjectId,
) -> Result<Option<(&Cache, cache::Position)>, cache::CacheError> {
    let Some(cache) = cache else { return Ok(None) };
    Ok(cache.alone(commit)?.map(|place| (cache, place)))
}

#[cfg(test)]
mod tests;
