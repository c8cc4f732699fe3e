//! Okapi BM25, and the scores made of its sums.

/// Saturation of repeated words (`k1`), and weight of a text's length (`b`).
#[derive(Debug, Clone, Copy)]
pub struct Bm25 {
    /// Larger for texts in which further occurrences of a word are significant.
    pub k1: f32,
    /// From 0, where the length of a text makes no difference, to 1.
    pub b: f32,
}

impl Bm25 {
    /// Returns the value of `count` occurrences of a word, from 0 up to `k1 + 1`; `length` is relative to the mean.
    pub fn saturation(self, count: f32, length: f32) -> f32 {
        count * (self.k1 + 1.0) / (count + self.k1 * (1.0 - self.b + self.b * length))
    }
}

/// Returns the weight of a word that `having` of `all` texts have; always positive.
pub fn rarity(all: usize, having: usize) -> f32 {
    let (all, having) = (all.max(having) as f32, having as f32);
    (1.0 + (all - having + 0.5) / (having + 0.5)).ln()
}

/// Returns the score of a value: below 1, larger for larger values; 0.5 if the value equals the weight of all of the query's words,
/// also of those that no text has; 0 without a value.
pub fn score(value: f32, query: f32) -> f64 {
    let (value, query) = (f64::from(value), f64::from(query));
    if value <= 0.0 { 0.0 } else { value / (value + query) }
}
