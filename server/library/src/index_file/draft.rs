//! A changed index in the making: all of it, but for what the system says of the files, which is known only when they
//! have their names.
//!
//! So it can be written while the transaction waits for the disk, and most of its checksum be worked out; what is then
//! left is a few bytes, and hashing from the first of them on.

use sha1::{Digest, Sha1};

use gix::ObjectId;

use super::{CHECKSUM_BYTES, HEADER_BYTES, IndexError, entries, open};
use tabellion_platform::FileStat;

/// An index whose changed entries say nothing of their files yet.
#[derive(Debug)]
pub(crate) struct Draft {
    bytes: Vec<u8>,
    /// Where the entry of each change is.
    entries: Vec<Option<usize>>,
    checked: bool,
}

/// The checksum as far as it does not depend on the files.
pub(crate) struct Begun(Sha1);

impl Draft {
    /// `bytes` are a whole index, with anything in its checksum's place.
    pub(super) fn new(bytes: Vec<u8>, entries: Vec<Option<usize>>, checked: bool) -> Self {
        Self {
            bytes,
            entries,
            checked,
        }
    }

    /// Makes git read the files of which `is_doubtful` says that they may be other than their entries say. It is asked of
    /// those that the index has as written in the second `since` or later, with what git calls them, what is noted of them
    /// and what they are kept as.
    ///
    /// # Errors
    /// [`IndexError`], where the entries can't be read.
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
            let kept = entries::kept(entry).blob;
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

    /// The bytes, with nothing of the files and a wrong checksum.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Begins the checksum.
    pub(crate) fn begin(&self) -> Begun {
        let settled = if self.checked { self.first() } else { 0 };
        Begun(Sha1::new_with_prefix(&self.bytes[..settled]))
    }

    /// What is still to be written, and where, in ascending order: for each change what the system says of its file, and
    /// the checksum.
    pub(crate) fn rest(&self, begun: &Begun, stats: &[FileStat]) -> Vec<(usize, Vec<u8>)> {
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

    /// The whole index.
    pub(crate) fn finish(mut self, stats: &[FileStat]) -> Vec<u8> {
        for (at, bytes) in self.rest(&self.begin(), stats) {
            self.bytes[at..at + bytes.len()].copy_from_slice(&bytes);
        }
        self.bytes
    }

    /// Where the first bytes are that are still to be written.
    fn first(&self) -> usize {
        let end = self.bytes.len() - CHECKSUM_BYTES;
        self.entries.iter().flatten().copied().min().unwrap_or(end)
    }
}
