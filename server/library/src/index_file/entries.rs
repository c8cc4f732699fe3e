//! The entries of an index: finding one, writing all of them with one changed.

use std::{cmp::Ordering, ops::Range};

use gix::{ObjectId, objs::tree::EntryKind};

use super::{IndexError, Mark, be32};
use crate::tree::Kept;
use tabellion_platform::{FileStat, Timestamp};

const FIXED_BYTES: usize = 62;
const MODE: Range<usize> = 24..28;
const SIZE: Range<usize> = 36..40;
const ID: Range<usize> = 40..60;
const FLAGS: Range<usize> = 60..FIXED_BYTES;
const LONGEST_NAME: usize = 0xfff;

const FILE_TYPE: u32 = 0o170_000;
const REGULAR_FILE: u32 = 0o100_000;

const ASSUME_VALID: u16 = 0x8000;
const EXTENDED: u16 = 0x4000;
const STAGE: u16 = 0x3000;
const SKIP_WORKTREE: u16 = 0x4000;

const DAMAGED: IndexError = IndexError::Damaged("an entry is cut off");

/// How entries are written.
#[derive(Clone, Copy)]
pub(super) struct Layout {
    /// How many there are.
    pub(super) count: u32,
    /// Whether names leave out what they share with the name before (version 4), instead of being padded.
    pub(super) compressed: bool,
}

/// Where a path is among the entries, or where it would be. Offsets count from the first entry.
#[derive(Default)]
pub(super) struct Scan {
    /// The entry of the path.
    pub(super) entry: Option<Found>,
    /// Where the first entry after the path starts.
    pub(super) after: usize,
    /// Where the last entry ends.
    pub(super) end: usize,
    /// The last name before the path, where names leave out what they share with it.
    before_name: Vec<u8>,
    /// The first entry after the path, and its name.
    next: Option<(Found, Vec<u8>)>,
}

/// An entry: all of it, and where its name starts.
#[derive(Clone)]
pub(super) struct Found {
    pub(super) span: Range<usize>,
    name_at: usize,
}

/// Reads the entries up to the last one.
pub(super) fn scan(body: &[u8], layout: Layout, path: &str) -> Result<Scan, IndexError> {
    let path = path.as_bytes();
    let mut scan = Scan::default();
    let mut unpacked = Vec::new();
    // Those below the path follow it closely: once a name does not begin with it, none does.
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

/// Tells of each entry: where it starts, its bytes, its name.
pub(super) fn each(
    body: &[u8],
    layout: Layout,
    mut tell: impl FnMut(usize, &[u8], &[u8]),
) -> Result<(), IndexError> {
    let (mut start, mut unpacked) = (0, Vec::new());
    for _ in 0..layout.count {
        let (Found { span, .. }, name) = entry_at(body, start, layout, &mut unpacked)?;
        tell(start, &body[span.clone()], name);
        start = span.end;
    }
    Ok(())
}

/// The entry that starts at `start`, and its name.
fn entry_at<'a>(
    body: &'a [u8],
    start: usize,
    layout: Layout,
    unpacked: &'a mut Vec<u8>,
) -> Result<(Found, &'a [u8]), IndexError> {
    let entry = body
        .get(start..)
        .filter(|entry| entry.len() > FIXED_BYTES)
        .ok_or(DAMAGED)?;
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
        return Ok((
            Found {
                span: start..end,
                name_at,
            },
            unpacked,
        ));
    }
    let length = match usize::from(flags) & LONGEST_NAME {
        LONGEST_NAME => text.iter().position(|byte| *byte == 0).ok_or(DAMAGED)?,
        length => length,
    };
    let name = text.get(..length).ok_or(DAMAGED)?;
    let end = start + padded(name_at + length);
    if end > body.len() {
        return Err(DAMAGED);
    }
    Ok((
        Found {
            span: start..end,
            name_at,
        },
        name,
    ))
}

/// An entry before the path must not be a folder on the way to it: a file there, or a collapsed one.
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

/// An entry after the path must not be below it.
fn check_below(name: &[u8], path: &[u8]) -> Result<(), IndexError> {
    if name.len() > path.len() && name.starts_with(path) && name[path.len()] == b'/' {
        return Err(IndexError::InTheWay(String::from_utf8_lossy(name).into_owned()));
    }
    Ok(())
}

/// What an entry holds.
pub(super) fn kept(entry: &[u8]) -> Kept {
    let blob = ObjectId::from_bytes_or_panic(&entry[ID]);
    let executable = be32(&entry[MODE]) & 0o100 != 0;
    Kept {
        blob,
        mode: if executable {
            EntryKind::BlobExecutable
        } else {
            EntryKind::Blob
        }
        .into(),
    }
}

/// What an entry is marked as.
pub(super) fn mark(entry: &[u8]) -> Option<Mark> {
    let flags = flags(entry);
    let extended = if flags & EXTENDED != 0 {
        be16(&entry[FIXED_BYTES..])
    } else {
        0
    };
    if extended & SKIP_WORKTREE != 0 {
        return Some(Mark::SkipWorktree);
    }
    (flags & ASSUME_VALID != 0).then_some(Mark::AssumeUnchanged)
}

/// Which bytes of `body` make way, and for what, so that the entry of `path` keeps `kept` or is gone. Of the system's
/// word on the file it says nothing.
pub(super) fn changed(
    body: &[u8],
    layout: Layout,
    path: &str,
    found: &Scan,
    kept: Option<Kept>,
) -> (Range<usize>, Vec<u8>) {
    let path = path.as_bytes();
    let old = found.entry.as_ref().map(|old| &body[old.span.clone()]);
    let start = found.entry.as_ref().map_or(found.after, |old| old.span.start);
    let mut new = Vec::new();
    if let Some(kept) = kept {
        write_entry(
            &mut new,
            &fixed_part(kept, path, old),
            layout,
            &found.before_name,
            path,
        );
    }
    let set_changed = kept.is_some() != old.is_some();
    match &found.next {
        // Its name leaves out what it shares with the name before it, which is another one now.
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

/// Everything of an entry but its name. Of the old one's flags, only "assume valid" stays.
fn fixed_part(kept: Kept, path: &[u8], old: Option<&[u8]>) -> Vec<u8> {
    let mut fixed = vec![0; ID.start];
    fixed[MODE].copy_from_slice(&u32::from(kept.mode.value()).to_be_bytes());
    fixed.extend(kept.blob.as_slice());
    let kept_flags = old.map_or(0, flags) & ASSUME_VALID;
    let length = path.len().min(LONGEST_NAME) as u16;
    fixed.extend((kept_flags | length).to_be_bytes());
    fixed
}

/// The second in which the entry's file was written.
pub(super) fn second(entry: &[u8]) -> u32 {
    be32(&entry[8..])
}

/// What the system said of the entry's file.
pub(super) fn stat(entry: &[u8]) -> FileStat {
    let word = |number: usize| be32(&entry[4 * number..]);
    let timestamp = |number| Timestamp {
        seconds: word(number),
        nanoseconds: word(number + 1),
    };
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

/// Whether git looks at what the system says of the entry's file, before it reads it, to see if it changed.
pub(super) fn is_read_by_stat(entry: &[u8]) -> bool {
    be32(&entry[MODE]) & FILE_TYPE == REGULAR_FILE && mark(entry).is_none() && stat(entry).size != 0
}

/// Makes git read the file of the entry, as git itself does.
pub(super) fn forget_size(entry: &mut [u8]) {
    entry[SIZE].fill(0);
}

/// What `entry` begins with once the system's word on its file is known.
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

/// One to eight NULs follow a name, so that entries start at multiples of eight.
fn padded(length: usize) -> usize {
    (length + 8) & !7
}

/// Git's offset encoding: the number, and how many bytes it takes.
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
