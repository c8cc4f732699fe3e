//! Searching: each search reads all notes, and counts words.

use serde_json::{Value, json};

use super::{Answer, Outcome, Shelf, note::Note, wrong};
use crate::mutant::{Mutant, is};

/// Maximum number of characters of an excerpt.
const MAX_EXCERPT: usize = 500;
/// Characters of an excerpt before the hit.
const BEFORE: usize = 120;

impl Shelf {
    pub(super) fn search(&mut self, arguments: &Value) -> Outcome {
        let query = arguments["query"].as_str().unwrap_or_default();
        if is(Mutant::QuestionsAreSyntax) && query.matches('"').count() % 2 == 1 {
            return Ok(Err(wrong("syntax", "fts5: unterminated string")));
        }
        let asked = words(query);
        let limit = arguments["limit"].as_u64().unwrap_or(10);
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let filters = &arguments["filters"];
        let mut found: Vec<(f64, Note)> = self
            .seen()?
            .into_iter()
            .map(|note| (score(&asked, &note), note))
            .filter(|(score, note)| *score > 0.0 && (is(Mutant::CutsThenFilters) || passes(filters, note)))
            .collect();
        found.sort_by(|(one, note), (other, later)| {
            other
                .total_cmp(one)
                .then_with(|| later.said("created_at").cmp(note.said("created_at")))
        });
        let total = found.len();
        found.truncate(limit);
        if is(Mutant::CutsThenFilters) {
            found.retain(|(_, note)| passes(filters, note));
        }
        let shows = arguments["include_excerpts"] != false || is(Mutant::AlwaysExcerpts);
        let results: Vec<Value> = found
            .iter()
            .map(|(score, note)| {
                let score = if is(Mutant::ScoresAboveOne) {
                    score * 2.0
                } else {
                    *score
                };
                let mut hit = json!({
                    "note_id": note.id(),
                    "similarity_score": score,
                    "metadata": {
                        "title": note.meta["title"],
                        "note_type": note.meta["type"],
                        "tags": note.meta["tags"],
                        "created_at": note.meta["created_at"],
                    },
                });
                if shows {
                    hit["excerpt"] = excerpt(&asked, &note.content).into();
                }
                hit
            })
            .collect();
        let response = json!({ "results": results, "total_results": total, "search_time_ms": 0.1 });
        Ok(Ok(Answer::Response(response)))
    }
}

fn passes(filters: &Value, note: &Note) -> bool {
    let is_of = |key: &str, holds: &dyn Fn(&str) -> bool| filters[key].as_str().is_none_or(holds);
    let created = note.said("created_at");
    is_of("note_type", &|wanted| wanted == note.said("type"))
        && is_of("created_after", &|time| created >= time)
        && is_of("created_before", &|time| created < time)
        && note.has_tags(&filters["tags"])
}

fn words(text: &str) -> Vec<String> {
    let text = text.to_lowercase();
    let parts = text.split(|character: char| !character.is_alphanumeric());
    parts.filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// Returns the share of the words that the note has. Many scripts have no spaces between words.
fn score(asked: &[String], note: &Note) -> f64 {
    let text = format!("{}\n{}", note.said("title"), note.content).to_lowercase();
    let has = asked.iter().filter(|word| text.contains(word.as_str())).count();
    let count = |number: usize| u32::try_from(number).map_or(f64::MAX, f64::from);
    count(has) / count(asked.len().max(1))
}

/// Returns the part of a note around the first of the words.
fn excerpt(asked: &[String], content: &str) -> String {
    if is(Mutant::ExcerptsAreNotes) {
        return content.to_owned();
    }
    let lower = content.to_lowercase();
    let at = asked.iter().filter_map(|word| lower.find(word.as_str())).min();
    let before = lower[..at.unwrap_or(0)].chars().count();
    let characters = content.chars().skip(before.saturating_sub(BEFORE));
    characters.take(MAX_EXCERPT).collect()
}
