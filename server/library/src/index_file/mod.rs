//! Git's index: looks up one entry, and changes one entry in place.
//!
//! Only the entry, the cached trees above it and the checksum change; everything else is copied byte for byte. gix would
//! parse and rewrite the whole file and drop extensions; leaving the index alone would make a person's next commit revert
//! ours. Versions 2, 3 and 4; the format is git's `gitformat-index(5)`.

mod cache_tree;
mod draft;
mod entries;
mod extensions;
mod layout;

use sha1::{Digest, Sha1};

pub(super) use self::draft::{Draft, PartialChecksum};
use self::{
    entries::{Layout, scan},
    layout::Changed,
};
use super::tree::TreeEntry;

const SIGNATURE: &[u8; 4] = b"DIRC";
const HEADER_BYTES: usize = 12;
const CHECKSUM_BYTES: usize = 20;

/// Returns an index without entries.
pub(super) fn empty() -> Vec<u8> {
    let mut index = Vec::from(*SIGNATURE);
    index.extend(2_u32.to_be_bytes());
    index.extend(0_u32.to_be_bytes());
    let checksum = Sha1::digest(&index);
    index.extend(checksum);
    index
}

/// Returns the entry at `path`.
///
/// # Errors
/// [`IndexError`]; also if the entry could not be changed.
pub(super) fn look_up(index: &[u8], path: &str) -> Result<Option<TreeEntry>, IndexError> {
    Ok(look_up_marked(index, path)?.map(|(kept, _)| kept))
}

/// Returns the entry at `path` with its mark.
pub(super) fn look_up_marked(
    index: &[u8],
    path: &str,
) -> Result<Option<(TreeEntry, Option<Mark>)>, IndexError> {
    let (layout, body) = open(index)?;
    let found = scan(body, layout, path)?;
    extensions::check_whole(&body[found.end..])?;
    Ok(found.entry.map(|entry| {
        let entry = &body[entry.span];
        (entries::tree_entry(entry), entries::mark(entry))
    }))
}

/// Returns the index with these entries at these paths, or without the path for `None`. Stat fields are left empty. `folders`
/// are the known folders above.
///
/// Clears the flags "skip worktree" and "intent to add": the file exists and is committed. There must be at least one change.
pub(super) fn draft(
    mut index: Vec<u8>,
    changes: &[(&str, Option<TreeEntry>)],
    folders: &Folders,
) -> Result<Draft, IndexError> {
    let (mut layout, body) = open(&index)?;
    let end = HEADER_BYTES + body.len();
    let checked = index[end..].iter().any(|byte| *byte != 0);
    index.truncate(end);
    let mut end = end;
    let mut touched = Touched::new();
    let mut moved = false;
    let mut places: Vec<Option<usize>> = Vec::new();
    for (path, kept) in changes {
        let body = &index[HEADER_BYTES..];
        let found = scan(body, layout, path)?;
        let (old, new) = entries::changed(body, layout, path, &found, *kept);
        let old = HEADER_BYTES + old.start..HEADER_BYTES + old.end;
        let (was, is) = (found.entry.is_some(), kept.is_some());
        for place in places.iter_mut().flatten().filter(|place| **place >= old.end) {
            *place = *place + new.len() - old.len();
        }
        places.push(is.then_some(old.start));
        end = HEADER_BYTES + found.end + new.len() - old.len();
        moved |= new.len() != old.len();
        drop(index.splice(old, new));
        layout.count = layout.count + u32::from(is) - u32::from(was);
        for folder in folders_of(path) {
            let known = folders.get(folder).copied();
            touched.entry(folder).or_insert((known, false)).1 |= was != is;
        }
    }

    let extensions = index.split_off(end);
    index[8..HEADER_BYTES].copy_from_slice(&layout.count.to_be_bytes());
    let set = touched.values().any(|(_, set)| *set);
    extensions::write_changed(&mut index, &extensions, Changed { folders: &touched, set, moved })?;
    index.extend([0; CHECKSUM_BYTES]);
    Ok(Draft::new(index, places, checked))
}

/// Returns the folders above `path`, the top one first.
fn folders_of(path: &str) -> impl Iterator<Item = &str> {
    let below = path.match_indices('/').map(|(at, _)| &path[..at]);
    std::iter::once("").chain(below)
}

/// Returns the header's layout, and the bytes between header and checksum.
fn open(index: &[u8]) -> Result<(Layout, &[u8]), IndexError> {
    if index.len() < HEADER_BYTES + CHECKSUM_BYTES || !index.starts_with(SIGNATURE) {
        return Err(IndexError::Damaged("no header"));
    }
    let version = be32(&index[4..8]);
    if !(2..=4).contains(&version) {
        return Err(IndexError::Version(version));
    }
    let layout = Layout { count: be32(&index[8..HEADER_BYTES]), compressed: version == 4 };
    Ok((layout, &index[HEADER_BYTES..index.len() - CHECKSUM_BYTES]))
}

#[cfg(test)]
#[path = "../tests/index_file.rs"]
mod tests;

pub(super) use self::layout::{Folders, IndexError, Mark};
use self::layout::{Touched, be32};
