//! Git's index: looking up one entry, and changing one entry in place.
//!
//! Only the entry, the cached trees above it and the checksum change; everything else is copied byte for byte. gix would
//! parse and rewrite the whole file and drop extensions; not to touch the index would make a person's next commit
//! revert ours. Versions 2, 3 and 4; the format is git's `gitformat-index(5)`.

mod cache_tree;
mod entries;
mod extensions;

use sha1::{Digest, Sha1};

use self::{
    entries::{Layout, scan},
    extensions::Changed,
};
use super::tree::{Kept, Step};
use crate::platform::FileStat;

const SIGNATURE: &[u8; 4] = b"DIRC";
const HEADER_BYTES: usize = 12;
const CHECKSUM_BYTES: usize = 20;

/// Why an index can't be changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum IndexError {
    /// It is not an index, or damaged.
    #[error("the index is damaged ({0}); `rm .git/index && git reset` makes it anew")]
    Damaged(&'static str),
    /// Its version is none that we know.
    #[error(
        "the index has version {0}, which is not supported; `git update-index --index-version 2` changes it"
    )]
    Version(u32),
    /// The path has a merge conflict.
    #[error("`{0}` has a merge conflict in the index; resolve it, then `git add` or `git rm` it")]
    Conflict(String),
    /// A file stands where the path has a folder, or the other way round.
    #[error("the index has `{0}`, which is in the way; commit or unstage its removal first")]
    InTheWay(String),
    /// It is split into two files.
    #[error("the index is split, which is not supported; `git update-index --no-split-index` joins it")]
    Split,
    /// The path lies in a folder that a sparse checkout has collapsed.
    #[error("`{0}` is outside the sparse checkout; `git sparse-checkout add` its folder first")]
    Sparse(String),
    /// It has an extension that must be understood and is not.
    #[error("the index has the extension `{0}`, which is not supported")]
    Extension(String),
}

/// What the index shall have at a path.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub(super) kept: Kept,
    pub(super) stat: FileStat,
}

/// An index without entries.
pub(super) fn empty() -> Vec<u8> {
    let mut index = Vec::from(*SIGNATURE);
    index.extend(2_u32.to_be_bytes());
    index.extend(0_u32.to_be_bytes());
    let checksum = Sha1::digest(&index);
    index.extend(checksum);
    index
}

/// What the index has at `path`.
///
/// # Errors
/// [`IndexError`], also when the entry could not be changed.
pub(super) fn look_up(index: &[u8], path: &str) -> Result<Option<Kept>, IndexError> {
    let (layout, entries) = open(index)?;
    let found = scan(entries, layout, path)?;
    Ok(found.entry.map(|entry| entries::kept(&entries[entry.span])))
}

/// The index with `entry` at `path`, or without `path`. `trees` are the trees on the way to `path` in the commit that
/// the index was compared with, before and after the change.
///
/// The flags "skip worktree" and "intent to add" are cleared: the file is there, and committed.
///
/// # Errors
/// [`IndexError`].
pub(super) fn with(
    index: &[u8],
    path: &str,
    entry: Option<&Entry>,
    trees: &[Step],
) -> Result<Vec<u8>, IndexError> {
    let (layout, body) = open(index)?;
    let found = scan(body, layout, path)?;
    let end = found.end;
    let (was, is) = (found.entry.is_some(), entry.is_some());

    let mut new = Vec::with_capacity(index.len() + path.len() + 80);
    new.extend_from_slice(&index[..HEADER_BYTES]);
    entries::write_changed(&mut new, body, layout, path, &found, entry);
    let count = layout.count + u32::from(is) - u32::from(was);
    new[8..HEADER_BYTES].copy_from_slice(&count.to_be_bytes());
    let moved = new.len() != HEADER_BYTES + end;
    extensions::write_changed(
        &mut new,
        &body[end..],
        Changed {
            path,
            trees,
            set: was != is,
            moved,
        },
    )?;
    let unchecked = index[index.len() - CHECKSUM_BYTES..]
        .iter()
        .all(|byte| *byte == 0);
    let checksum = if unchecked {
        [0; CHECKSUM_BYTES]
    } else {
        Sha1::digest(&new).into()
    };
    new.extend_from_slice(&checksum);
    Ok(new)
}

/// What the header says, and the bytes between header and checksum.
fn open(index: &[u8]) -> Result<(Layout, &[u8]), IndexError> {
    if index.len() < HEADER_BYTES + CHECKSUM_BYTES || !index.starts_with(SIGNATURE) {
        return Err(IndexError::Damaged("no header"));
    }
    let version = be32(&index[4..8]);
    if !(2..=4).contains(&version) {
        return Err(IndexError::Version(version));
    }
    let layout = Layout {
        count: be32(&index[8..HEADER_BYTES]),
        compressed: version == 4,
    };
    Ok((layout, &index[HEADER_BYTES..index.len() - CHECKSUM_BYTES]))
}

fn be32(bytes: &[u8]) -> u32 {
    u32::from_be_bytes(bytes[..4].try_into().expect("four bytes"))
}

#[cfg(test)]
#[path = "../tests/index_file.rs"]
mod tests;
