//! Compares the log with the changes in its commits, without the cache, and the cache with both. Changes nothing.

use std::{
    collections::BTreeSet,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use gix::ObjectId;
use tabellion_runtime::Failure;
use tabellion_sqlite::LOG;

use super::{
    ancestry::{CommitData, Walk},
    cache::{Cache, CacheError},
    changes,
    entry::LogEntry,
};

/// Upper bound of the unnamed documents that are listed.
const MAX_UNNAMED: usize = 10_000;

/// Time after which no further commit is read.
const MAX_TIME: Duration = Duration::from_secs(60);

/// Number of further attempts to read the cache before it counts as damaged, and the pause before each: a server may be writing it.
const RETRIES: usize = 5;
const RETRY_INTERVAL: Duration = Duration::from_millis(50);

/// The log and its commits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Agreement {
    /// Number of commits that were read, the newest first.
    pub commits: usize,
    /// Number of entries of this library among them.
    pub entries: usize,
    /// Entries whose commit changes a document that is missing in the entry: the commit, and the document's path in the repository.
    /// At most 10,000.
    pub unnamed: Vec<(String, String)>,
    /// Commits of entries that change too much to be compared.
    pub too_large: Vec<String>,
    /// Commits with a time after `now`.
    pub from_the_future: Vec<String>,
    /// Set if older commits were left out, because reading these took a minute.
    pub is_cut: bool,
    /// The state of the cache.
    pub cache: CacheState,
}

/// The state of the log's cache, which the server rebuilds if it must.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CacheState {
    /// There is none yet.
    #[default]
    Missing,
    /// It agrees with the commits that were read.
    Agrees,
    /// It is being written, so its file alone is inconclusive.
    InUse,
    /// It has an entry that the commits do not have.
    Disagrees,
    /// It can't be read.
    Damaged,
}

/// Compares the newest `limit` commits in `head`'s history. `now` is in seconds since 1970.
pub(crate) fn agreement(
    git: &gix::Repository,
    head: Option<ObjectId>,
    prefix: &str,
    cache: &Path,
    limit: usize,
    now: i64,
) -> Result<Agreement, Failure> {
    let mut found = Agreement::default();
    let mut entries = BTreeSet::new();
    let Some(head) = head else { return Ok(found) };
    let mut walk = Walk::from(git, head)?;
    let begun = Instant::now();
    while found.commits < limit
        && let Some(visited) = walk.next(git)?
    {
        if begun.elapsed() > MAX_TIME {
            found.is_cut = true;
            break;
        }
        found.commits += 1;
        let id = visited.id.to_string();
        if visited.commit.time > now {
            found.from_the_future.push(id.clone());
        }
        let Some(named) = named_paths(&visited.commit) else {
            continue;
        };
        match changes::of_commit(git, &visited.commit, changes::OF_CACHE)? {
            Some(changed) => {
                let unnamed = changed.into_iter().filter(|path| !named.contains(path));
                let left = MAX_UNNAMED.saturating_sub(found.unnamed.len());
                found.unnamed.extend(unnamed.take(left).map(|path| (id.clone(), path)));
            }
            None => found.too_large.push(id.clone()),
        }
        if let Some(entry) =
            visited.commit.record.and_then(|record| LogEntry::from_record(visited.id, record, prefix))
        {
            entries.insert(entry.commit);
        }
    }
    found.entries = entries.len();
    let are_all = found.commits < limit && !found.is_cut;
    found.cache = state(cache, prefix, &entries, are_all);
    for _ in 0..RETRIES {
        if !matches!(found.cache, CacheState::Damaged | CacheState::Disagrees) {
            break;
        }
        thread::sleep(RETRY_INTERVAL);
        found.cache = state(cache, prefix, &entries, are_all);
    }
    Ok(found)
}

/// Returns the paths that an entry names.
fn named_paths(commit: &CommitData) -> Option<BTreeSet<String>> {
    let record = commit.record.as_ref().filter(|record| super::entry::is_entry(record))?;
    Some(record.paths.iter().cloned().collect())
}

/// Inspects the cache's file without its journal, so it writes nothing.
fn state(file: &Path, prefix: &str, entries: &BTreeSet<String>, are_all: bool) -> CacheState {
    if !file.exists() {
        return CacheState::Missing;
    }
    let journal = file.with_extension("sqlite-wal");
    let is_written = || journal.metadata().is_ok_and(|journal| journal.len() > 0);
    let before = is_written();
    let looked_at = LOG.connect_unchanging(file).map_err(CacheError::from).and_then(|database| {
        let cache = Cache { database };
        cache.check()?;
        let is_ours = cache.is_ours()? && cache.state()?.is_some();
        Ok(if is_ours { Some(cache.entries(0, prefix, usize::MAX)?) } else { None })
    });
    let in_use = before || is_written();
    match looked_at {
        Ok(Some(cached)) if cached.iter().all(|entry| entries.contains(&entry.commit)) => CacheState::Agrees,
        // The cache may know a branch that is not checked out, or commits before those that were read.
        Ok(Some(_)) if in_use || !are_all => CacheState::InUse,
        Ok(Some(_)) => CacheState::Disagrees,
        Ok(None) | Err(_) if in_use => CacheState::InUse,
        Ok(None) | Err(_) => CacheState::Damaged,
    }
}
