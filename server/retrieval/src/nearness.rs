//! Meaning: the texts that are compared with a query in addition to their words, and their share in the score.
//!
//! This crate makes no vectors. An index keeps the [`TextKey`] of each text, and asks a [`Nearness`] for its cosine with the query.

use sha2::{Digest as _, Sha256};

use crate::engine::keep_best;

/// Identifies a text by its owner and its content: the first half of their SHA-256.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TextKey([u8; Self::BYTES]);

impl TextKey {
    /// Bytes of a key.
    pub const BYTES: usize = 16;

    /// Returns the key of a text without an owner.
    pub fn from_text(text: &str) -> Self {
        Self::of_owner("", text)
    }

    /// Returns the key of an owner's text. Equal texts of two owners have different keys: otherwise one could learn from the time
    /// until a text has a vector that the other has it too.
    pub fn of_owner(owner: &str, text: &str) -> Self {
        let prefix = [owner, if owner.is_empty() { "" } else { "\0" }].concat();
        let hash: [u8; 32] = Sha256::new_with_prefix(prefix).chain_update(text).finalize().into();
        Self(*hash.first_chunk().expect("32 bytes have 16"))
    }

    /// Takes a key from its bytes.
    pub const fn from_bytes(bytes: [u8; Self::BYTES]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes.
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        self.0
    }
}

/// Similarity of texts to a query in meaning.
pub trait Nearness {
    /// Returns the cosine of the text with this key and the query, from -1 to 1; `None` if the text has no vector yet.
    fn cosine(&self, key: &TextKey) -> Option<f32>;
}

/// One text of this many may lack a vector; if more do, vectors are ignored, since the nearest would be those that have one.
const MAX_LACKING: usize = 10;

/// Number of texts without a word of the query that are added.
const MAX_ADDED: usize = 100;
/// Lowest cosine of such a text. Texts that are unrelated to a query are below it.
const MIN_COSINE: f32 = 0.3;

/// Nearness of a search's texts, by number.
#[derive(Debug, Clone)]
pub struct Nearby {
    /// NaN for a text that does not pass, or has no vector.
    cosines: Vec<f32>,
    mean: f32,
    best: f32,
}

impl Nearby {
    /// Compares texts, which are numbered in their order; `None` is one that does not pass the filters, or has no meaning to compare.
    /// Returns `None` if there are none, or too many of them have no vector yet.
    pub fn compare<'t>(
        texts: impl Iterator<Item = Option<&'t TextKey>>,
        nearness: &dyn Nearness,
    ) -> Option<Self> {
        let (mut passing, mut known, mut sum, mut best) = (0_usize, 0_usize, 0.0_f64, -1.0_f32);
        let compare = |text: Option<&TextKey>| {
            passing += usize::from(text.is_some());
            let cosine = text.and_then(|text| nearness.cosine(text));
            if let Some(cosine) = cosine {
                known += 1;
                sum += f64::from(cosine);
                best = best.max(cosine);
            }
            cosine.unwrap_or(f32::NAN)
        };
        let cosines: Vec<f32> = texts.map(compare).collect();
        let mean = (sum / known.max(1) as f64) as f32;
        let is_complete = known > 0 && (passing - known) * MAX_LACKING <= passing;
        is_complete.then_some(Self { cosines, mean, best })
    }

    /// Returns the cosine of the nearest text.
    pub fn best(&self) -> f32 {
        self.best
    }

    /// Returns a text's nearness, from 0, the mean nearness or less, to 1, the nearest of all.
    pub fn share(&self, number: u32) -> f32 {
        let cosine = self.cosines.get(number as usize).copied().unwrap_or(f32::NAN);
        let range = (self.best - self.mean).max(f32::EPSILON);
        // NaN becomes 0.
        ((cosine - self.mean) / range).max(0.0)
    }

    /// Returns the texts that meaning adds to those that were found by words, the nearest first.
    pub fn added(&self, found: impl Iterator<Item = u32>) -> Vec<u32> {
        let mut cosines = self.cosines.clone();
        found.for_each(|number| cosines[number as usize] = f32::NAN);
        let all = (0..).zip(cosines);
        let mut near: Vec<(u32, f32)> = all.filter(|(_, cosine)| *cosine >= MIN_COSINE).collect();
        keep_best(&mut near, MAX_ADDED, |a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        near.into_iter().map(|(number, _)| number).collect()
    }
}
