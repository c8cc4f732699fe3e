//! A changed index without the stat fields of changed files, which are known only after the files have their names.
//!
//! The transaction writes it, and computes most of its checksum, while it waits for the disk. The remainder is a few bytes, and the
//! hash from the first of them on.

use sha1::{Digest, Sha1};

use gix::ObjectId;

use super::{CHECKSUM_BYTES, HEADER_BYTES, entries, layout::IndexError, open};
use tabellion_platform::FileStat;

/// An index whose changed entries have empty stat fields.
#[derive(Debug)]
pub(crate) struct Draft {
    bytes: Vec<u8>,
    /// Offset of the entry of each change.
    entries: Vec<Option<usize>>,
    checked: bool,
}

/// The checksum of the part that does not depend on the files.
pub(crate) struct PartialChecksum(Sha1);

impl Draft {
    /// `bytes` is a whole index, with any bytes in place of the checksum.
    pub(super) fn new(bytes: Vec<u8>, entries: Vec<Option<usize>>, checked: bool) -> Self {
        Self { bytes, entries, checked }
    }

    /// Makes git read again the files for which `is_doubtful` returns true. It is called for entries written in the second `since`
    /// or later, with the git path, the stat fields and the stored entry.
    ///
    /// # Errors
    /// [`IndexError`] if the entries are invalid.
    pub(crate) fn doubt(
        &mut self,
        since: u32,
        mut is_doubtful: impl FnMut(&str, &FileStat, ObjectId) -> bool,
    ) -> Result<(), IndexError> {
        let (layout, body) = open(&self.bytes)?;
        let mut doubtful = Vec::new();
        entries::each(body, layout, |at, entry, name| {
            if entries::second(entry) < since || !entries::is_read_by_stat(entry) {
                return;
            }
            let kept = entries::tree_entry(entry).blob;
            let name = std::str::from_utf8(name);
            if name.is_ok_and(|name| is_doubtful(name, &entries::stat(entry), kept)) {
                doubtful.push(HEADER_BYTES + at);
            }
        })?;
        for at in doubtful {
            entries::forget_size(&mut self.bytes[at..]);
        }
        Ok(())
    }

    /// Returns the bytes, with empty stat fields and a wrong checksum.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Starts computing the checksum.
    pub(crate) fn begin(&self) -> PartialChecksum {
        let settled = if self.checked { self.first() } else { 0 };
        PartialChecksum(Sha1::new_with_prefix(&self.bytes[..settled]))
    }

    /// Returns the bytes that remain to be written, with their offsets in ascending order: the stat fields of each change, and the
    /// checksum.
    pub(crate) fn rest(&self, begun: &PartialChecksum, stats: &[FileStat]) -> Vec<(usize, Vec<u8>)> {
        let mut rest: Vec<_> = self
            .entries
            .iter()
            .zip(stats)
            .filter_map(|(at, stat)| Some(((*at)?, entries::stat_part(&self.bytes[(*at)?..], stat))))
            .collect();
        rest.sort_by_key(|(at, _)| *at);
        let end = self.bytes.len() - CHECKSUM_BYTES;
        if self.checked {
            let mut hash = begun.0.clone();
            let mut done = self.first();
            for (at, bytes) in &rest {
                hash.update(&self.bytes[done..*at]);
                hash.update(bytes);
                done = at + bytes.len();
            }
            hash.update(&self.bytes[done..end]);
            rest.push((end, hash.finalize().to_vec()));
        }
        rest
    }

    /// Returns the whole index.
    pub(crate) fn finish(mut self, stats: &[FileStat]) -> Vec<u8> {
        for (at, bytes) in self.rest(&self.begin(), stats) {
            self.bytes[at..at + bytes.len()].copy_from_slice(&bytes);
        }
        self.bytes
    }

    /// Returns the offset of the first byte that remains to be written.
    fn first(&self) -> usize {
        let end = self.bytes.len() - CHECKSUM_BYTES;
        self.entries.iter().flatten().copied().min().unwrap_or(end)
    }
}
