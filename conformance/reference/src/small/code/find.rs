//! Searching: each chunk is compared with the query.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    files::{Chunk, File, language},
    invalid,
    store::State,
};
use crate::{
    mutant::{Mutant, is},
    small::Refusal,
};

/// Default limit.
const LIMIT: u64 = 10;
const FILTERS: [&str; 6] = ["language", "path", "kind", "symbol", "branch", "collection"];

/// A chunk that has some of a query's words.
struct Hit<'s> {
    collection: &'s str,
    file: &'s File,
    chunk: &'s Chunk,
    score: f64,
}

impl Hit<'_> {
    fn kind(&self) -> &'static str {
        if self.file.is_commit {
            "commit"
        } else if self.chunk.symbol.is_some() {
            "function"
        } else {
            "text"
        }
    }

    fn holds(&self, filter: &str) -> bool {
        let (name, value) = filter.split_once(':').unwrap_or((filter, ""));
        match name {
            "language" => language(&self.file.path) == value,
            "path" => fits(value, &self.file.path),
            "kind" => self.kind() == value,
            "symbol" => self.chunk.symbol.as_deref() == Some(value),
            "collection" => self.collection == value,
            "branch" => self.file.branch.as_deref() == Some(value) || is(Mutant::IgnoresBranch),
            _ => false,
        }
    }

    fn answer(&self) -> Value {
        json!({
            "file_path": self.file.path, "start_line": self.chunk.start, "end_line": self.chunk.end, "language": language(&self.file.path),
            "kind": self.kind(), "symbol": self.chunk.symbol, "collection": self.collection, "branch": self.file.branch, "blob": self.file.blob,
            "content": self.chunk.content, "score": if is(Mutant::CodeScoresNegative) { -self.score } else { self.score },
        })
    }
}

/// Returns true if a pattern with `*` and `**` fits a path.
fn fits(pattern: &str, path: &str) -> bool {
    if let Some(rest) = pattern.strip_prefix("**/") {
        let starts = path.match_indices('/').map(|(at, _)| at + 1);
        return std::iter::once(0).chain(starts).any(|at| fits(rest, &path[at..]));
    }
    if let Some(folder) = pattern.strip_suffix("**") {
        return path.starts_with(folder);
    }
    let (before, after) = pattern.split_once('*').unwrap_or((pattern, ""));
    let middle = path
        .strip_prefix(before)
        .and_then(|rest| rest.strip_suffix(after));
    middle.is_some_and(|middle| !middle.contains('/') && (pattern.contains('*') || middle.is_empty()))
}

pub(super) fn search(state: &State, arguments: &Value) -> Result<Value, Refusal> {
    let query = arguments["query"].as_str().unwrap_or_default();
    if is(Mutant::CodeQueriesAreSyntax) && query.matches('(').count() != query.matches(')').count() {
        return Err(invalid("the query has an open group"));
    }
    let texts = |name: &str| -> Vec<&str> {
        let all = arguments[name].as_array().into_iter().flatten();
        all.filter_map(Value::as_str).collect()
    };
    let filters = texts("filters");
    for filter in &filters {
        if !FILTERS.contains(&filter.split(':').next().unwrap_or_default()) {
            return Err(invalid(format!("there is no filter `{filter}`")));
        }
    }
    let extensions = texts("extensions");
    let has_extension = |path: &str| {
        let extension = path.rsplit('.').next().unwrap_or_default();
        extensions.is_empty()
            || is(Mutant::IgnoresExtensions)
            || extensions
                .iter()
                .any(|it| it.trim_start_matches('.') == extension)
    };
    let passes =
        |hit: &Hit<'_>| filters.iter().all(|filter| hit.holds(filter)) && has_extension(&hit.file.path);
    let mut all: Vec<_> = state
        .asked(arguments["collection"].as_str())?
        .flat_map(|collection| {
            let chunks = collection.chunks();
            chunks.map(|(file, chunk)| Hit {
                collection: &collection.name,
                file,
                chunk,
                score: 0.0,
            })
        })
        .collect();
    score(&mut all, query);
    all.retain(|hit| hit.score > 0.0);
    all.sort_by(|one, other| other.score.total_cmp(&one.score));
    if is(Mutant::CodeScoresAscend) {
        all.reverse();
    }
    let limit = usize::try_from(arguments["limit"].as_u64().unwrap_or(LIMIT)).unwrap_or(usize::MAX);
    if is(Mutant::CodeFiltersAfterCut) {
        all.truncate(limit);
    }
    let lowest = arguments["min_score"].as_f64().unwrap_or_default();
    all.retain(|hit| passes(hit) && hit.score >= lowest);
    let total = all.len();
    let mut results: Vec<_> = all.iter().take(limit).map(Hit::answer).collect();
    if is(Mutant::HitsEachWord) && words(query).len() > 3 {
        results = results.into_iter().flat_map(|hit| [hit.clone(), hit]).collect();
    }
    Ok(
        json!({ "query": query, "resource": "code", "count": results.len(), "total": total, "results": results }),
    )
}

/// Scores each chunk by its words, the rare ones most. Chunks with the name or the quoted text of the query are above all others.
fn score(all: &mut [Hit<'_>], query: &str) {
    let quoted = query.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let asked = words(query);
    let texts: Vec<_> = all.iter().map(|hit| hit.chunk.content.to_lowercase()).collect();
    let tokens: Vec<_> = all.iter().map(|hit| list(&hit.chunk.content)).collect();
    let many = |place: usize, word: &str| {
        if word.is_ascii() {
            tokens[place].iter().filter(|it| *it == word).count()
        } else {
            texts[place].matches(word).count()
        }
    };
    let weights: Vec<_> = asked
        .iter()
        .map(|word| {
            let having = (0..all.len()).filter(|place| many(*place, word) > 0).count();
            (1.0 + number(all.len()) / number(having.max(1))).ln()
        })
        .collect();
    let sum: f64 = weights.iter().sum();
    for (place, hit) in all.iter_mut().enumerate() {
        let length = 1.0 + number(tokens[place].len()) / 20.0;
        let worth = asked.iter().zip(&weights).map(|(word, weight)| {
            let many = number(many(place, word));
            weight * many / (many + length)
        });
        let score = worth.sum::<f64>() / sum.max(f64::MIN_POSITIVE);
        let is_exact = hit.chunk.symbol.as_deref() == Some(query)
            || quoted.is_some_and(|quoted| hit.chunk.content.contains(quoted));
        hit.score = if is_exact && !is(Mutant::IgnoresNames) {
            f64::midpoint(score, 1.0)
        } else {
            score / 2.0
        };
    }
}

/// Returns a small number unchanged.
fn number(number: usize) -> f64 {
    u32::try_from(number).map_or(f64::MAX, f64::from)
}

fn words(text: &str) -> BTreeSet<String> {
    list(text).into_iter().collect()
}

/// Returns the words of a text in lower case: names, and their parts.
fn list(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let names = text.split(|it: char| !it.is_alphanumeric() && it != '_');
    for name in names.filter(|name| !name.is_empty()) {
        words.push(name.to_lowercase());
        let mut parts = vec![String::new()];
        for letter in name.chars() {
            if letter == '_' || letter.is_uppercase() {
                parts.push(String::new());
            }
            if let Some(part) = parts.last_mut().filter(|_| letter != '_') {
                part.extend(letter.to_lowercase());
            }
        }
        parts.retain(|part| !part.is_empty());
        if parts.len() > 1 {
            words.extend(parts);
        }
    }
    words
}
