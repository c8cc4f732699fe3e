//! Fusion: adds the meaning of files to the values that their chunks have by words.
//!
//! ```text
//! value + top × (MEANING × nearness of the file + OWN × nearness of the chunk) × place
//! ```
//!
//! *top* is the best value by words; the nearness of a file is its nearest chunk's.

use tabellion_retrieval::{Nearby, Nearness, engine::Candidates};

use crate::{
    columns::DEAD,
    parts::{Parts, Searched, Valued},
};

/// Weight of the nearest file's meaning, relative to the best value by words. It is the best of 1, 1.5, 2 and 3 on any 19 of the 20
/// repositories (README.md).
const MEANING: f32 = 2.0;
/// Words decide which chunk of a file is meant. Without words of the query, the nearest chunk comes first.
const OWN: f32 = 0.05;

/// Compares the chunks that pass the filters with the query; `None` if too many of them have no vectors.
pub(crate) fn nearby(parts: &Parts<'_>, passing: &Candidates, nearness: &dyn Nearness) -> Option<Nearby> {
    let chunks = parts.all.iter().flat_map(|part| {
        let columns = &part.columns;
        columns.file_of.iter().zip(&columns.texts)
    });
    let texts = (0..)
        .zip(chunks)
        .map(|(chunk, (file, text))| (*file != DEAD && passing.contains(chunk)).then_some(text));
    Nearby::compare(texts, nearness)
}

/// Adds meaning to the values of chunks, and adds chunks that only meaning finds. `weight` is that of the query's words, `place` returns
/// the factor of a file's values.
pub(crate) fn fuse(
    parts: &Parts<'_>,
    found: &mut Vec<Valued>,
    nearby: &Nearby,
    weight: f32,
    place: impl Fn(&Searched<'_>) -> f32,
) {
    let added = nearby.added(found.iter().map(|hit| hit.chunk));
    found.extend(
        added.into_iter().filter_map(|chunk| {
            Some(Valued { chunk, file: parts.file_of(chunk)?, symbol: None, value: 0.0 })
        }),
    );
    let top = found.iter().map(|hit| hit.value).fold(0.0, f32::max);
    let top = if top > 0.0 { top } else { weight };
    let of_files = of_files(parts, nearby);
    for hit in found {
        let file = hit.file as usize;
        let nearness = MEANING * of_files[file] + OWN * nearby.nearness(hit.chunk);
        hit.value += top * nearness * place(&parts.files[file]);
    }
}

/// Returns the nearness of each file's nearest chunk.
fn of_files(parts: &Parts<'_>, nearby: &Nearby) -> Vec<f32> {
    let nearest = |file: &Searched<'_>| {
        let shares = file.chunks().map(|chunk| nearby.nearness(chunk as u32));
        shares.fold(0.0, f32::max)
    };
    parts.files.iter().map(nearest).collect()
}
