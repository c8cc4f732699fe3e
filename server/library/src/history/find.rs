//! Finds a log entry by its commit's id, or by the id's first digits.

use std::collections::HashSet;

use gix::{ObjectId, hash::Prefix};
use tabellion_runtime::Failure;

use super::{ancestry::CommitData, entry::LogEntry, reaches};
use crate::failures::InRepository;

/// Error when looking up an entry of the log.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum FindEntryError {
    /// The text is not the beginning of a commit id.
    #[error("`{0}` is not a commit id, nor the first digits of one (at least {MIN_DIGITS})")]
    NotAnId(String),
    /// No commit in the branch's history has such an id.
    #[error("no commit of this branch begins with `{0}`")]
    NotFound(String),
    /// The commit is not an entry of this library's log.
    #[error("the commit `{0}` is not an entry of this library's log")]
    NotAnEntry(String),
    /// The commit is an entry of a library in a different folder of the repository.
    #[error("the commit `{id}` changed `{path}`, which is outside of this library's folder")]
    Elsewhere {
        /// Id of the commit.
        id: String,
        /// The first path of the entry, from the top of the repository.
        path: String,
    },
    /// Several entries have such an id.
    #[error("`{id}` is the beginning of several entries: {}", commits.join(", "))]
    Ambiguous {
        /// The text.
        id: String,
        /// The commits.
        commits: Vec<String>,
    },
    /// The repository can't be read.
    #[error(transparent)]
    Failure(#[from] Failure),
}

/// Number of digits from which on the beginning of an id is accepted, as in git.
const MIN_DIGITS: usize = 4;

/// Returns the entry in `head`'s history whose commit id begins with `id`, of the library at `prefix`.
pub(crate) fn find(
    git: &gix::Repository,
    head: Option<ObjectId>,
    prefix: &str,
    id: &str,
) -> Result<LogEntry, FindEntryError> {
    let digits = Prefix::from_hex(id).ok().filter(|_| id.len() >= MIN_DIGITS);
    let digits = digits.ok_or_else(|| FindEntryError::NotAnId(id.to_owned()))?;
    let mut objects = HashSet::new();
    git.objects.lookup_prefix(digits, Some(&mut objects)).reading("the objects")?;
    let (mut entries, mut elsewhere, mut others) = (Vec::new(), None, 0);
    for object in objects {
        if !is_commit_of(git, head, object)? {
            continue;
        }
        let record = CommitData::read(git, object)?.and_then(|commit| commit.record);
        let path = record.as_ref().and_then(|record| record.paths.first().cloned());
        match record.and_then(|record| LogEntry::from_record(object, record, prefix)) {
            Some(entry) => entries.push(entry),
            None => {
                others += 1;
                elsewhere = path;
            }
        }
    }
    match (entries.len(), others) {
        (1, _) => Ok(entries.swap_remove(0)),
        (0, 0) => Err(FindEntryError::NotFound(id.to_owned())),
        (0, _) => Err(match elsewhere {
            Some(path) => FindEntryError::Elsewhere { id: id.to_owned(), path },
            None => FindEntryError::NotAnEntry(id.to_owned()),
        }),
        _ => {
            let mut commits: Vec<_> = entries.into_iter().map(|entry| entry.commit).collect();
            commits.sort();
            Err(FindEntryError::Ambiguous { id: id.to_owned(), commits })
        }
    }
}

/// Returns true if the object is a commit in `head`'s history.
fn is_commit_of(git: &gix::Repository, head: Option<ObjectId>, object: ObjectId) -> Result<bool, Failure> {
    let Some(head) = head else { return Ok(false) };
    let header = git.find_header(object).reading("an object")?;
    Ok(header.kind() == gix::object::Kind::Commit && reaches(git, head, object, None)?)
}
