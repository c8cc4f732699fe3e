//! Similarity of two files: the share of the larger one that is also in the other, in pieces of at most 64 bytes that end at line ends.
//! Order does not matter.

use super::content::Content;

/// The score of files with the same pieces.
pub(super) const MAX_SCORE: u64 = 60_000;

/// Bytes of the longest piece.
const MAX_PIECE_BYTES: u32 = 64;

/// Number of different hashes. Different pieces with the same hash count as equal: with hashes other than git's, some renames among files
/// that are nearly identical had a different source.
const HASHES: u32 = 107_927;

/// The pieces of a file: hash and number of bytes in all pieces with that hash, by hash.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Pieces(Vec<(u32, u32)>);

impl Pieces {
    /// Returns the pieces of a file. In text, `\r` before `\n` does not count.
    pub(super) fn from_content(content: &Content) -> Self {
        let is_text = matches!(content, Content::Text(_));
        let bytes = content.bytes();
        let mut pieces = Vec::with_capacity(bytes.len() / 24);
        let mut piece = Piece::default();
        for (at, byte) in bytes.iter().enumerate() {
            if is_text && *byte == b'\r' && bytes.get(at + 1) == Some(&b'\n') {
                continue;
            }
            piece.push(*byte);
            if piece.length == MAX_PIECE_BYTES || *byte == b'\n' {
                pieces.push(piece.take());
            }
        }
        if piece.length > 0 {
            pieces.push(piece.take());
        }
        pieces.sort_unstable();
        pieces.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 = kept.1.saturating_add(next.1);
            }
            same
        });
        Self(pieces)
    }

    /// Returns the memory that the pieces take, in bytes.
    pub(super) fn size(&self) -> usize {
        self.0.len() * size_of::<(u32, u32)>()
    }

    /// Returns the number of bytes in pieces that both files have.
    fn bytes_in_common(&self, other: &Self) -> u64 {
        let (mut one, mut other) = (&self.0[..], &other.0[..]);
        let mut bytes = 0;
        while let ([(hash, count), rest @ ..], [(other_hash, other_count), other_rest @ ..]) = (one, other) {
            if hash == other_hash {
                bytes += u64::from(*count.min(other_count));
            }
            if hash <= other_hash {
                one = rest;
            }
            if hash >= other_hash {
                other = other_rest;
            }
        }
        bytes
    }
}

/// Returns true if files of these sizes can have a score of `minimum`.
pub(super) fn sizes_permit(one: u64, other: u64, minimum: u64) -> bool {
    let (larger, smaller) = (one.max(other), one.min(other));
    larger * (MAX_SCORE - minimum) >= (larger - smaller) * MAX_SCORE
}

/// Returns the score of two files with these pieces and sizes, from 0 to [`MAX_SCORE`].
pub(super) fn score(old: (&Pieces, u64), new: (&Pieces, u64)) -> u64 {
    if new.1 == 0 {
        return 0;
    }
    old.0.bytes_in_common(new.0) * MAX_SCORE / old.1.max(new.1)
}

/// An incomplete piece.
#[derive(Default)]
struct Piece {
    /// The last bytes, as a number of 64 bits of which each byte moves the others by 7, halves exchanged.
    halves: (u32, u32),
    length: u32,
}

impl Piece {
    fn push(&mut self, byte: u8) {
        let (one, other) = self.halves;
        let shifted = |by: u32, carried: u32| (by << 7) ^ (carried >> 25);
        self.halves = (shifted(one, other).wrapping_add(byte.into()), shifted(other, one));
        self.length += 1;
    }

    /// Returns hash and length, and begins the next piece.
    fn take(&mut self) -> (u32, u32) {
        let Self { halves, length } = std::mem::take(self);
        (halves.1.wrapping_mul(97).wrapping_add(halves.0) % HASHES, length)
    }
}

#[cfg(test)]
#[path = "similarity_tests.rs"]
mod tests;
