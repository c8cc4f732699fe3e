//! The entries of an index: finds one, and writes all of them with one changed.

use std::{cmp::Ordering, ops::Range};

use gix::{ObjectId, objs::tree::EntryKind};

use super::layout::{IndexError, Mark, be32};
use crate::tree::TreeEntry;
use tabellion_platform::{FileStat, Timestamp};

const FIXED_BYTES: usize = 62;
const MODE: Range<usize> = 24..28;
const SIZE: Range<usize> = 36..40;
const ID: Range<usize> = 40..60;
const FLAGS: Range<usize> = 60..FIXED_BYTES;
const MAX_NAME_BYTES: usize = 0xfff;

const FILE_TYPE: u32 = 0o170_000;
const REGULAR_FILE: u32 = 0o100_000;

const ASSUME_VALID: u16 = 0x8000;
const EXTENDED: u16 = 0x4000;
const STAGE: u16 = 0x3000;
const SKIP_WORKTREE: u16 = 0x4000;
const INTENT_TO_ADD: u16 = 0x2000;

const DAMAGED: IndexError = IndexError::Damaged("an entry is cut off");

/// The format of the entries.
#[derive(Clone, Copy)]
pub(super) struct Layout {
    /// Number of entries.
    pub(super) count: u32,
    /// True if names omit the prefix shared with the name before (version 4), instead of being padded.
    pub(super) compressed: bool,
}

/// The position of a path among the entries. Offsets count from the first entry.
#[derive(Default)]
pub(super) struct Scan {
    /// The entry of the path.
    pub(super) entry: Option<EntryRange>,
    /// Start of the first entry after the path.
    pub(super) after: usize,
    /// End of the last entry.
    pub(super) end: usize,
    /// The last name before the path, whose prefix may be shared.
    before_name: Vec<u8>,
    /// The first entry after the path, and its name.
    next: Option<(EntryRange, Vec<u8>)>,
}

/// Range of an entry, and the start of its name.
#[derive(Clone)]
pub(super) struct EntryRange {
    pub(super) span: Range<usize>,
    name_at: usize,
}

/// Scans all entries.
pub(super) fn scan(body: &[u8], layout: Layout, path: &str) -> Result<Scan, IndexError> {
    let path = path.as_bytes();
    let mut scan = Scan::default();
    let mut unpacked = Vec::new();
    // Entries below the path follow it directly: the first name without the prefix ends them.
    let mut may_be_below = true;
    for _ in 0..layout.count {
        let (found, name) = entry_at(body, scan.end, layout, &mut unpacked)?;
        scan.end = found.span.end;
        if scan.next.is_some() {
            may_be_below = may_be_below && name.starts_with(path);
            if may_be_below {
                check_below(name, path)?;
            }
            continue;
        }
        match name.cmp(path) {
            Ordering::Less => {
                if path.starts_with(name) {
                    check_above(name, path, &body[found.span.clone()])?;
                }
                scan.after = found.span.end;
                if layout.compressed {
                    scan.before_name.clear();
                    scan.before_name.extend_from_slice(name);
                }
            }
            Ordering::Equal if flags(&body[found.span.clone()]) & STAGE != 0 => {
                return Err(IndexError::Conflict(String::from_utf8_lossy(path).into_owned()));
            }
            Ordering::Equal => {
                scan.after = found.span.end;
                scan.entry = Some(found);
            }
            Ordering::Greater => {
                check_below(name, path)?;
                may_be_below = name.starts_with(path);
                scan.next = Some((found, name.to_vec()));
            }
        }
    }
    Ok(scan)
}

/// Calls back for each entry with its offset, bytes and name.
pub(super) fn each(
    body: &[u8],
    layout: Layout,
    mut tell: impl FnMut(usize, &[u8], &[u8]),
) -> Result<(), IndexError> {
    let (mut start, mut unpacked) = (0, Vec::new());
    for _ in 0..layout.count {
        let (EntryRange { span, .. }, name) = entry_at(body, start, layout, &mut unpacked)?;
        tell(start, &body[span.clone()], name);
        start = span.end;
    }
    Ok(())
}

/// Returns the entry at `start`, and its name.
fn entry_at<'a>(
    body: &'a [u8],
    start: usize,
    layout: Layout,
    unpacked: &'a mut Vec<u8>,
) -> Result<(EntryRange, &'a [u8]), IndexError> {
    let entry = body.get(start..).filter(|entry| entry.len() > FIXED_BYTES).ok_or(DAMAGED)?;
    let flags = flags(entry);
    let name_at = FIXED_BYTES + if flags & EXTENDED != 0 { 2 } else { 0 };
    let text = entry.get(name_at..).ok_or(DAMAGED)?;
    if layout.compressed {
        let (dropped, text_at) = read_varint(text).ok_or(DAMAGED)?;
        let text = &text[text_at..];
        let length = text.iter().position(|byte| *byte == 0).ok_or(DAMAGED)?;
        unpacked.truncate(unpacked.len().checked_sub(dropped).ok_or(DAMAGED)?);
        unpacked.extend_from_slice(&text[..length]);
        let end = start + name_at + text_at + length + 1;
        return Ok((EntryRange { span: start..end, name_at }, unpacked));
    }
    let length = match usize::from(flags) & MAX_NAME_BYTES {
        MAX_NAME_BYTES => text.iter().position(|byte| *byte == 0).ok_or(DAMAGED)?,
        length => length,
    };
    let name = text.get(..length).ok_or(DAMAGED)?;
    let end = start + padded(name_at + length);
    if end > body.len() {
        return Err(DAMAGED);
    }
    Ok((EntryRange { span: start..end, name_at }, name))
}

/// Refuses an entry that is a file, or a collapsed folder, where the path needs a folder.
fn check_above(name: &[u8], path: &[u8], entry: &[u8]) -> Result<(), IndexError> {
    let shown = || String::from_utf8_lossy(name).into_owned();
    if name.ends_with(b"/") && path.starts_with(name) {
        return Err(IndexError::Sparse(String::from_utf8_lossy(path).into_owned()));
    }
    let is_above = path.len() > name.len() && path.starts_with(name) && path[name.len()] == b'/';
    if is_above && flags(entry) & STAGE == 0 {
        return Err(IndexError::InTheWay(shown()));
    }
    Ok(())
}

/// Refuses an entry below the path.
fn check_below(name: &[u8], path: &[u8]) -> Result<(), IndexError> {
    if name.len() > path.len() && name.starts_with(path) && name[path.len()] == b'/' {
        return Err(IndexError::InTheWay(String::from_utf8_lossy(name).into_owned()));
    }
    Ok(())
}

/// Returns the stored blob and mode of an entry.
pub(super) fn tree_entry(entry: &[u8]) -> TreeEntry {
    let blob = ObjectId::from_bytes_or_panic(&entry[ID]);
    let executable = be32(&entry[MODE]) & 0o100 != 0;
    TreeEntry { blob, mode: if executable { EntryKind::BlobExecutable } else { EntryKind::Blob }.into() }
}

pub(super) fn mark(entry: &[u8]) -> Option<Mark> {
    let flags = flags(entry);
    let extended = if flags & EXTENDED != 0 { be16(&entry[FIXED_BYTES..]) } else { 0 };
    if extended & SKIP_WORKTREE != 0 {
        return Some(Mark::SkipWorktree);
    }
    if extended & INTENT_TO_ADD != 0 {
        return Some(Mark::IntentToAdd);
    }
    (flags & ASSUME_VALID != 0).then_some(Mark::AssumeUnchanged)
}

/// Returns the range of `body` to replace and its replacement, which sets the entry of `path` to `kept` or removes it. The stat
/// fields are zero.
pub(super) fn changed(
    body: &[u8],
    layout: Layout,
    path: &str,
    found: &Scan,
    kept: Option<TreeEntry>,
) -> (Range<usize>, Vec<u8>) {
    let path = path.as_bytes();
    let old = found.entry.as_ref().map(|old| &body[old.span.clone()]);
    let start = found.entry.as_ref().map_or(found.after, |old| old.span.start);
    let mut new = Vec::new();
    if let Some(kept) = kept {
        write_entry(&mut new, &fixed_part(kept, path, old), layout, &found.before_name, path);
    }
    let set_changed = kept.is_some() != old.is_some();
    match &found.next {
        // The shared prefix of the next name depends on the name before it, which has changed.
        Some((next, name)) if layout.compressed && set_changed => {
            let before = if kept.is_some() { path } else { &found.before_name };
            write_entry(
                &mut new,
                &body[next.span.start..next.span.start + next.name_at],
                layout,
                before,
                name,
            );
            (start..next.span.end, new)
        }
        _ => (start..found.after, new),
    }
}

/// Returns an entry without its name. Of the old flags, only "assume valid" is kept.
fn fixed_part(kept: TreeEntry, path: &[u8], old: Option<&[u8]>) -> Vec<u8> {
    let mut fixed = vec![0; ID.start];
    fixed[MODE].copy_from_slice(&u32::from(kept.mode.value()).to_be_bytes());
    fixed.extend(kept.blob.as_slice());
    let kept_flags = old.map_or(0, flags) & ASSUME_VALID;
    let length = path.len().min(MAX_NAME_BYTES) as u16;
    fixed.extend((kept_flags | length).to_be_bytes());
    fixed
}

/// Returns the second in which the entry's file was written.
pub(super) fn second(entry: &[u8]) -> u32 {
    be32(&entry[8..])
}

/// Returns the stat fields of an entry.
pub(super) fn stat(entry: &[u8]) -> FileStat {
    let word = |number: usize| be32(&entry[4 * number..]);
    let timestamp = |number| Timestamp { seconds: word(number), nanoseconds: word(number + 1) };
    FileStat {
        ctime: timestamp(0),
        mtime: timestamp(2),
        device: word(4),
        inode: word(5),
        user: word(7),
        group: word(8),
        size: word(9),
    }
}

/// Returns true if git compares the stat fields before it reads the file.
pub(super) fn is_read_by_stat(entry: &[u8]) -> bool {
    be32(&entry[MODE]) & FILE_TYPE == REGULAR_FILE && mark(entry).is_none() && stat(entry).size != 0
}

/// Makes git read the entry's file, in the way that git itself does.
pub(super) fn forget_size(entry: &mut [u8]) {
    entry[SIZE].fill(0);
}

/// Returns the beginning of `entry` with these stat fields.
pub(super) fn stat_part(entry: &[u8], stat: &FileStat) -> Vec<u8> {
    let mode = be32(&entry[MODE]);
    let words = [
        stat.ctime.seconds,
        stat.ctime.nanoseconds,
        stat.mtime.seconds,
        stat.mtime.nanoseconds,
        stat.device,
        stat.inode,
        mode,
        stat.user,
        stat.group,
        stat.size,
    ];
    words.into_iter().flat_map(u32::to_be_bytes).collect()
}

fn write_entry(new: &mut Vec<u8>, fixed: &[u8], layout: Layout, before: &[u8], name: &[u8]) {
    let start = new.len();
    new.extend_from_slice(fixed);
    if layout.compressed {
        let shared = before.iter().zip(name).take_while(|(a, b)| a == b).count();
        write_varint(new, before.len() - shared);
        new.extend_from_slice(&name[shared..]);
        new.push(0);
    } else {
        new.extend_from_slice(name);
        new.resize(start + padded(new.len() - start), 0);
    }
}

fn flags(entry: &[u8]) -> u16 {
    be16(&entry[FLAGS])
}

fn be16(bytes: &[u8]) -> u16 {
    u16::from_be_bytes([bytes[0], bytes[1]])
}

/// Returns the padded length: names end with one to eight NULs, which aligns entries to multiples of eight.
fn padded(length: usize) -> usize {
    (length + 8) & !7
}

/// Decodes git's offset encoding: the number, and its length in bytes.
fn read_varint(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut value = usize::from(bytes.first()? & 0x7f);
    let mut at = 0;
    while bytes[at] & 0x80 != 0 {
        at += 1;
        value = value.checked_add(1)?.checked_mul(128)? | usize::from(bytes.get(at)? & 0x7f);
    }
    Some((value, at + 1))
}

fn write_varint(new: &mut Vec<u8>, value: usize) {
    let mut digits = vec![(value & 0x7f) as u8];
    let mut rest = value >> 7;
    while rest > 0 {
        rest -= 1;
        digits.push(0x80 | (rest & 0x7f) as u8);
        rest >>= 7;
    }
    new.extend(digits.iter().rev());
}
