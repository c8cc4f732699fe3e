//! Files whose change git could miss.
//!
//! Git considers a file unchanged if its stat fields equal those in the index: size, inode, and times, of which it compares the
//! seconds. A file written again in the second of its entry may look unchanged. Git therefore reads a file whose time is not before
//! that of the index itself. A new index would be later and hide such a change for ever; so before one is written, [`settle`]
//! examines these files and makes git read those that may have changed. The index then gets the time of that examination, so later
//! writes are noticed too.

use std::{
    fs,
    io::Read as _,
    time::{Duration, SystemTime},
};

use gix::ObjectId;

use super::{
    index::IndexStat,
    index_file::{Draft, IndexError},
    objects::blob_id,
    working_tree::WorkingTree,
};
use crate::path::LibraryPath;
use tabellion_platform::{self as platform, FileStat, Timestamp};

/// Resolution of the clock for file times, which may also lag by as much.
const CLOCK_RESOLUTION: Duration = Duration::from_millis(20);
/// Larger files are not read here; git reads them when it needs to.
const MAX_READ_BYTES: u32 = 1 << 20;

/// Marks the files that may differ from `draft`, which replaces the index `old`. Returns the modification time that the new
/// index must have.
pub(super) fn settle(
    working_tree: &WorkingTree,
    draft: &mut Draft,
    old: &IndexStat,
) -> Result<SystemTime, IndexError> {
    let now = SystemTime::now();
    if let Some(time) = old.modified() {
        draft.doubt(time.seconds, |path, noted, kept| is_doubtful(working_tree, path, noted, kept, time))?;
    }
    Ok(now.checked_sub(CLOCK_RESOLUTION).unwrap_or(now))
}

/// Returns true if git would take the file at the git path `path` for unchanged since an index of `time`, although it may
/// have changed.
fn is_doubtful(
    working_tree: &WorkingTree,
    path: &str,
    noted: &FileStat,
    kept: ObjectId,
    time: Timestamp,
) -> bool {
    let Ok(found) = fs::symlink_metadata(working_tree.repository.top().join(path)) else {
        return false;
    };
    let found = platform::file_stat(&found);
    if found.size != noted.size || found.mtime.seconds != noted.mtime.seconds {
        return false;
    }
    let is_settled =
        u128::from(noted.mtime.as_nanos()) + CLOCK_RESOLUTION.as_nanos() < time.as_nanos().into();
    let is_same = (found.ctime, found.mtime, found.inode) == (noted.ctime, noted.mtime, noted.inode);
    if is_settled && is_same {
        return false;
    }
    content(working_tree, path, found.size) != Some(kept)
}

/// Returns the blob id of the file without conversion; `None` if it is not a document of ours, or large.
fn content(working_tree: &WorkingTree, path: &str, size: u32) -> Option<ObjectId> {
    let path = path.strip_prefix(working_tree.repository.prefix())?;
    let path = LibraryPath::parse(path).ok().filter(|_| size <= MAX_READ_BYTES)?;
    let file = working_tree.root.open_document(&path).ok()??;
    let mut bytes = Vec::new();
    file.take(u64::from(MAX_READ_BYTES) + 1).read_to_end(&mut bytes).ok()?;
    blob_id(&bytes).ok()
}
