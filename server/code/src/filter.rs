//! Bloom filter of a segment's words: a search of many segments looks only into those that may have its words.

use sha1::{Digest, Sha1};

/// Bits for each word. With as many bits set for a word as its hash has parts, one absent word of 100 is taken for a present one.
const BITS: usize = 10;

/// The hash of a word: its SHA-1, which is the same on every machine, in parts.
pub(crate) struct WordHash([[u8; 4]; 5]);

impl WordHash {
    pub(crate) fn new(word: &[u8]) -> Self {
        let hash: [u8; 20] = Sha1::digest(word).into();
        let mut parts = [[0; 4]; 5];
        parts.as_flattened_mut().copy_from_slice(&hash);
        Self(parts)
    }

    /// Returns the bucket of the word, if there are `buckets` of them; 0 counts as 1.
    pub(crate) fn bucket(&self, buckets: usize) -> usize {
        u32::from_le_bytes(self.0[0]) as usize % buckets.max(1)
    }

    /// Returns the bits of a word among so many bytes: the byte of each, and its mask.
    fn bits(&self, bytes: usize) -> impl Iterator<Item = (usize, u8)> + '_ {
        self.0.iter().map(move |part| {
            let bit = u32::from_le_bytes(*part) as usize % (bytes * 8).max(1);
            (bit / 8, 1 << (bit % 8))
        })
    }
}

/// The words of a segment.
pub(crate) struct WordFilter(Box<[u8]>);

impl WordFilter {
    pub(crate) fn from_words<'t>(words: impl ExactSizeIterator<Item = &'t [u8]>) -> Self {
        let mut bytes = vec![0; (words.len() * BITS).div_ceil(8)];
        for word in words {
            for (at, mask) in WordHash::new(word).bits(bytes.len()) {
                bytes[at] |= mask;
            }
        }
        Self(bytes.into())
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Self {
        Self(bytes.into())
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns false if the segment does not have a word.
    pub(crate) fn may_have(&self, word: &WordHash) -> bool {
        let mut bits = word.bits(self.0.len());
        bits.all(|(at, mask)| self.0.get(at).is_some_and(|byte| byte & mask != 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_may_be_and_of_the_rest_one_in_a_hundred() {
        for count in [0, 1, 7, 20_000] {
            let word = |number: usize| format!("w{number}").into_bytes();
            let words: Vec<_> = (0..count).map(word).collect();
            let filter = WordFilter::from_words(words.iter().map(Vec::as_slice));
            let filter = WordFilter::from_bytes(filter.as_bytes());
            assert!(words.iter().all(|word| filter.may_have(&WordHash::new(word))));
            let others =
                (count..count + 20_000).filter(|number| filter.may_have(&WordHash::new(&word(*number))));
            let others = others.count();
            assert!(others <= 300, "{others} of {count}");
        }
    }
}
