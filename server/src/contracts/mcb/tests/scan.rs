//! A slow index that is right by being simple: it reads all rows and counts the query's words in them.

use std::{collections::BTreeSet, sync::Arc};

use tabellion_contracts::mcb::ROWS;
use tabellion_records::Records;
use tabellion_runtime::{
    BoxFuture, Failure, Row, RowView as _,
    rows::{Filter, Select},
};

use super::super::{
    entries::Kind,
    index::{Found, Hit, MemoryIndex, MemoryQuery},
};

pub(super) struct Scan(pub(super) Arc<Records>);

impl MemoryIndex for Scan {
    fn search<'a>(&'a self, query: &'a MemoryQuery) -> BoxFuture<'a, Result<Found, Failure>> {
        Box::pin(async move {
            let filters = vec![Filter::is("org_id", query.org.as_str())];
            let rows = self
                .0
                .select(&Select::new(ROWS.entity(query.entity).unwrap(), filters))
                .await?;
            let mut hits: Vec<_> = rows.iter().filter_map(|row| hit(query, row)).collect();
            hits.sort_by(|(a, at), (b, other)| b.score.total_cmp(&a.score).then(other.cmp(at)));
            let total = hits.len() as u64;
            let hits = hits
                .into_iter()
                .map(|(hit, _)| hit)
                .take(query.limit as usize)
                .collect();
            Ok(Found { hits, total })
        })
    }
}

fn hit(query: &MemoryQuery, row: &Row) -> Option<(Hit, super::super::entries::At)> {
    let kind = match query.entity {
        "observation" => Kind::Observation,
        "error_pattern" => Kind::ErrorPattern,
        _ => Kind::Session,
    };
    let entry = kind.entry(row);
    let is = |asked: &Option<String>, has: &Option<String>| asked.is_none() || asked == has;
    let branch = row
        .get("branch")
        .and_then(|branch| branch.as_str())
        .map(String::from);
    let passes = is(&query.project_id, &entry.project_id)
        && is(&query.repo_id, &entry.repo_id)
        && is(&query.session_id, &entry.session_id)
        && is(&query.file_path, &entry.file_path)
        && is(&query.branch, &branch)
        && query.since.is_none_or(|since| entry.at.time >= since)
        && query.until.is_none_or(|until| entry.at.time <= until)
        && query.tags.iter().all(|tag| entry.tags.contains(tag))
        && (query.types.is_empty() || query.types.contains(&entry.word));
    let (asked, has) = (words(&query.text), words(&entry.content));
    let shared = asked.intersection(&has).count();
    let score = shared as f64 / asked.len().max(1) as f64;
    let id = entry.id.clone();
    (passes && shared > 0 && score >= query.min_score).then_some((Hit { id, score }, entry.at))
}

fn words(text: &str) -> BTreeSet<String> {
    let words = text.split(|letter: char| !letter.is_alphanumeric());
    words
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}
