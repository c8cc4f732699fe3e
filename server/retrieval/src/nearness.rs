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

/// A text whose cosine is this many standard deviations above the mean of the others is nearest. The best of thousands of texts are 3 to 8
/// above it.
const SPREAD: f64 = 10.0;
/// Lowest standard deviation: that of the cosines of texts on any subject. A few texts may be closer together by chance.
const MIN_DEVIATION: f64 = 0.1;

/// Cosines of a search's texts, by number.
#[derive(Debug, Clone)]
pub struct Nearby {
    /// NaN for a text that does not pass, or has no vector.
    cosines: Vec<f32>,
    /// Number, sum and sum of squares of those that are there.
    known: usize,
    sum: f64,
    squares: f64,
    best: f32,
}

impl Nearby {
    /// Compares texts, which are numbered in their order; `None` is one that does not pass the filters, or has no meaning to compare.
    /// Returns `None` if there are none, or too many of them have no vector yet.
    pub fn compare<'t>(
        texts: impl Iterator<Item = Option<&'t TextKey>>,
        nearness: &dyn Nearness,
    ) -> Option<Self> {
        let mut passing = 0;
        let mut all = Self { cosines: vec![], known: 0, sum: 0.0, squares: 0.0, best: -1.0 };
        for text in texts {
            passing += usize::from(text.is_some());
            let cosine = text.and_then(|text| nearness.cosine(text));
            if let Some(cosine) = cosine {
                all.known += 1;
                all.sum += f64::from(cosine);
                all.squares += f64::from(cosine).powi(2);
                all.best = all.best.max(cosine);
            }
            all.cosines.push(cosine.unwrap_or(f32::NAN));
        }
        let is_complete = all.known > 0 && (passing - all.known) * MAX_LACKING <= passing;
        is_complete.then_some(all)
    }

    /// Returns the cosine of the nearest text.
    pub fn best(&self) -> f32 {
        self.best
    }

    /// Returns a text's cosine; NaN if it does not pass, or has no vector.
    pub(crate) fn cosine(&self, number: u32) -> f32 {
        self.cosines.get(number as usize).copied().unwrap_or(f32::NAN)
    }

    /// Returns a text's nearness, from 0 to 1; 0 if it does not pass, or has no vector.
    pub fn nearness(&self, number: u32) -> f32 {
        self.nearness_of(self.cosine(number))
    }

    /// Returns the nearness of a text with this cosine: from 0, the mean of the other texts or less, to 1.
    pub(crate) fn nearness_of(&self, cosine: f32) -> f32 {
        if cosine.is_nan() {
            return 0.0;
        }
        let cosine = f64::from(cosine);
        let others = (self.known - 1).max(1) as f64;
        let mean = (self.sum - cosine) / others;
        let variance = (self.squares - cosine.powi(2)) / others - mean.powi(2);
        let deviation = variance.max(0.0).sqrt().max(MIN_DEVIATION);
        ((cosine - mean) / (SPREAD * deviation)).clamp(0.0, 1.0) as f32
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
