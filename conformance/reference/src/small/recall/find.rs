//! Finding words: each search reads all notes.

use std::collections::BTreeSet;

use super::{invalid, note::Note};
use crate::{
    mutant::{Mutant, is},
    small::Refusal,
};

/// Returns a note's score for a query, above 0 if it has one of its words, and below 1.
pub(super) fn score(query: &str, note: &Note) -> Result<f64, Refusal> {
    if is(Mutant::QueriesAreSyntax) && query.matches('"').count() % 2 == 1 {
        return Err(invalid("fts5: unterminated string"));
    }
    let mut text = note.content.to_lowercase();
    for tag in &note.tags {
        text.push('\n');
        text += &tag.to_lowercase();
    }
    for name in ["solutions", "affected_files"] {
        let more = note
            .fields
            .get(name)
            .map(super::request::texts)
            .unwrap_or_default();
        text = more
            .iter()
            .fold(text, |text, more| text + "\n" + &more.to_lowercase());
    }
    let all = words(&text);
    let asked: BTreeSet<_> = words(&query.to_lowercase()).into_iter().collect();
    let length = 1.0 + count(all.len()) / 20.0;
    let worth = |word: &String| {
        // Many scripts have no spaces between words.
        let many = if word.is_ascii() {
            all.iter().filter(|other| *other == word).count()
        } else if is(Mutant::WordsAreAscii) {
            0
        } else {
            text.matches(word.as_str()).count()
        };
        count(many) / (count(many) + length)
    };
    let sum: f64 = asked.iter().map(worth).sum();
    Ok(sum / count(asked.len().max(1)))
}

/// Returns a small number unchanged.
fn count(number: usize) -> f64 {
    u32::try_from(number).map_or(f64::MAX, f64::from)
}

fn words(text: &str) -> Vec<String> {
    let parts = text.split(|character: char| !character.is_alphanumeric());
    parts.filter(|part| !part.is_empty()).map(str::to_owned).collect()
}
