//! Fusion: adds the meaning of documents to their scores by words.
//!
//! The score of a document is
//!
//! ```text
//! top × (WORDS × words / best words + nearness) / (WORDS + 1)
//! ```
//!
//! where *words* is its score by words, *nearness* goes from 0, the mean of all documents that pass the filters, to 1, the nearest; and
//! *top* is the best score by words or the best cosine, whichever is larger. So a query without a good answer has low scores.

use crate::Nearby;

/// Weight of words, against 1 for meaning. Words know the neighbours, the group and the time of a document, and names; vectors do not. On
/// articles, 1 to 3 are best; on turns of conversations, 4 to 6 (README.md). With 4, no kind of question loses more hits than by chance.
const WORDS: f64 = 4.0;

/// Adds meaning to the scores by words, and adds documents that only meaning finds.
pub(crate) fn fuse(found: &mut Vec<(u32, f64)>, nearby: &Nearby) {
    let added = nearby.added(found.iter().map(|(document, _)| *document));
    found.extend(added.into_iter().map(|document| (document, 0.0)));
    let best = found.iter().map(|(_, score)| *score).fold(0.0, f64::max);
    let top = best.max(f64::from(nearby.best()));
    for (document, score) in found {
        let words = if best > 0.0 { *score / best } else { 0.0 };
        let nearness = f64::from(nearby.share(*document));
        *score = top * (WORDS * words + nearness) / (WORDS + 1.0);
    }
}
