//! Hits of a search.

use tabellion_conformance::checks::prelude::*;

/// A note that a search found.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Hit {
    pub(super) id: String,
    pub(super) score: f64,
    pub(super) excerpt: Option<String>,
    pub(super) metadata: Value,
}

/// Reads the hits of an answer, at most `most`.
///
/// # Errors
/// The failure of an answer that is incomplete, has a score outside 0 to 1 or in ascending order, or counts wrongly.
pub(super) fn hits(answer: &Value, most: u64) -> Result<Vec<Hit>, Stop> {
    let results = answer["results"].as_array();
    let results = results.ok_or_else(|| fail(format!("the answer has no `results`: {answer}")))?;
    let mut hits: Vec<Hit> = Vec::new();
    for result in results {
        let hit = hit(result).ok_or_else(|| fail(format!("a hit lacks something: {result}")))?;
        ensure((0.0..=1.0).contains(&hit.score), || format!("a score is not from 0 to 1: {result}"))?;
        let last = hits.last().map_or(f64::INFINITY, |last| last.score);
        ensure(hit.score <= last, || format!("a score of {} comes after {last}", hit.score))?;
        ensure(!hits.iter().any(|other| other.id == hit.id), || format!("note {} is found twice", hit.id))?;
        hits.push(hit);
    }
    let (many, total) = (hits.len() as u64, answer["total_results"].as_u64());
    let is_counted = total.is_some_and(|total| many == total.min(most));
    ensure(is_counted && many <= most, || {
        format!("{many} hits of at most {most} are answered, and {total:?} are said to match")
    })?;
    let took = answer["search_time_ms"].as_f64();
    ensure(took.is_some_and(|took| took >= 0.0), || {
        format!("the answer does not say how long the search took: {answer}")
    })?;
    Ok(hits)
}

fn hit(result: &Value) -> Option<Hit> {
    let metadata = &result["metadata"];
    let is_whole = ["title", "note_type", "created_at"].iter().all(|key| metadata[*key].is_string());
    (is_whole && metadata["tags"].is_array()).then_some(())?;
    Some(Hit {
        id: result["note_id"].as_str()?.to_owned(),
        score: result["similarity_score"].as_f64()?,
        excerpt: result["excerpt"].as_str().map(str::to_owned),
        metadata: metadata.clone(),
    })
}
