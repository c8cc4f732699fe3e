//! Files that changed and don't look it.
//!
//! Git takes a file for what its entry in the index says as long as the system says the same of it: size, inode, and times,
//! of which it compares the seconds. A file that was written again in the second of its entry may look the same. Git
//! knows: it reads a file whose time is not before that of the index itself. A new index would be later than that, and hide the
//! change for ever; so whoever writes one looks at such files first ([`settle`]), and makes git read those that may
//! have changed. The index then gets the time of that look, so that what is written after it is noticed, too.

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

/// The clock that files get their times from may be so much behind, and stand still for so long.
const TICK: Duration = Duration::from_millis(20);
/// A larger file is not read to see whether it changed: git does it, when somebody asks.
const LARGEST: u32 = 1 << 20;

/// Makes git read the files that may be other than `draft` says, which is to replace the index `old`. The time that the
/// new index must have.
///
/// # Errors
/// [`IndexError`].
pub(super) fn settle(
    working_tree: &WorkingTree,
    draft: &mut Draft,
    old: &IndexStat,
) -> Result<SystemTime, IndexError> {
    let now = SystemTime::now();
    if let Some(time) = old.modified() {
        draft.doubt(time.seconds, |path, noted, kept| {
            is_doubtful(working_tree, path, noted, kept, time)
        })?;
    }
    Ok(now.checked_sub(TICK).unwrap_or(now))
}

/// Whether git would take the file at `path`, in its words, for what was noted of it in an index of `time`, though it may
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
    let is_settled = u128::from(noted.mtime.as_nanos()) + TICK.as_nanos() < time.as_nanos().into();
    let is_same = (found.ctime, found.mtime, found.inode) == (noted.ctime, noted.mtime, noted.inode);
    if is_settled && is_same {
        return false;
    }
    content(working_tree, path, found.size) != Some(kept)
}

/// What the file would be in git if nothing is converted; `None` where it is not ours to read, or large.
fn content(working_tree: &WorkingTree, path: &str, size: u32) -> Option<ObjectId> {
    let path = path.strip_prefix(working_tree.repository.prefix())?;
    let path = LibraryPath::parse(path).ok().filter(|_| size <= LARGEST)?;
    let file = working_tree.root.open_document(&path).ok()??;
    let mut bytes = Vec::new();
    file.take(u64::from(LARGEST) + 1).read_to_end(&mut bytes).ok()?;
    blob_id(&bytes).ok()
}
