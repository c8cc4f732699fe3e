//! Fusion: adds the meaning of documents to their scores by words.
//!
//! The score of a document is
//!
//! ```text
//! top × (words / best words + nearness) / 2
//! ```
//!
//! where *words* is its score by words, *nearness* is that of the document and its neighbours, which have the same shares as in the score by
//! words; and *top* is the best score by words or the best cosine, whichever is larger. So a query without a good answer has low scores.

use crate::{Nearby, columns::Columns, ranking::NEIGHBORS};

/// Adds meaning to the scores by words, and adds documents that only meaning finds.
pub(crate) fn fuse(columns: &Columns, found: &mut Vec<(u32, f64)>, nearby: &Nearby) {
    let added = nearby.added(found.iter().map(|(document, _)| *document));
    found.extend(added.into_iter().map(|document| (document, 0.0)));
    let best = found.iter().map(|(_, score)| *score).fold(0.0, f64::max);
    let top = best.max(f64::from(nearby.best()));
    let mut cosines = vec![f32::NAN; columns.slots];
    for (document, record) in (0..).zip(&columns.records) {
        if let Some(slot) = columns.slot(record) {
            cosines[slot] = nearby.cosine(document);
        }
    }
    for (document, score) in found {
        let words = if best > 0.0 { *score / best } else { 0.0 };
        let nearness = f64::from(nearness(columns, *document, nearby, &cosines));
        *score = top * (words + nearness) / 2.0;
    }
}

/// Returns the mean nearness of a document and its neighbours, whose cosines are by slot. One without a vector is no neighbour.
fn nearness(columns: &Columns, document: u32, nearby: &Nearby, cosines: &[f32]) -> f32 {
    let beside = |slot: usize| {
        let neighbors = (1..).zip(NEIGHBORS);
        neighbors.flat_map(move |(distance, share)| [(slot - distance, share), (slot + distance, share)])
    };
    let slot = columns.slot(&columns.records[document as usize]);
    let (mut sum, mut shares) = (nearby.nearness(document), 1.0);
    for (slot, share) in slot.into_iter().flat_map(beside).filter(|(slot, _)| !cosines[*slot].is_nan()) {
        sum += share * nearby.nearness_of(cosines[slot]);
        shares += share;
    }
    sum / shares
}
