//! Excerpts: the passage of a text that contains most words of a query.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
};

use tabellion_retrieval::words;

/// Maximum characters of an excerpt.
pub const MAX_EXCERPT_CHARS: usize = 500;
/// Characters after which a run without blanks is cut, if its script has no blanks between words.
const MAX_RUN_CHARS: usize = 64;

/// Returns the words of a query, without stop words unless there are no others.
pub(super) fn query_terms(query: &str) -> HashSet<String> {
    let words = words(query);
    let has_others = words.iter().any(|word| !word.is_stop_word);
    let wanted = words.into_iter().filter(|word| !(has_others && word.is_stop_word));
    wanted.map(|word| word.term).collect()
}

/// A run of characters without blanks.
struct Piece {
    range: Range<usize>,
    /// Characters before it in the text, and after it.
    chars: Range<usize>,
    terms: Vec<String>,
}

/// Returns the part of `text` with the most distinct words of `terms`, then the most occurrences of them, then the first: at most
/// [`MAX_EXCERPT_CHARS`] characters, unchanged, from a word's beginning to a word's end.
pub(super) fn excerpt<'t>(text: &'t str, terms: &HashSet<String>) -> &'t str {
    let pieces = pieces(text, terms);
    let mut best = (0..0, (0, 0));
    let mut counts: HashMap<&str, usize> = HashMap::new();
    let mut occurrences = 0;
    let mut start = 0;
    for (end, piece) in pieces.iter().enumerate() {
        for term in &piece.terms {
            *counts.entry(term).or_default() += 1;
            occurrences += 1;
        }
        while piece.chars.end - pieces[start].chars.start > MAX_EXCERPT_CHARS {
            for term in &pieces[start].terms {
                occurrences -= 1;
                if let Some(count) = counts.get_mut(term.as_str()) {
                    *count -= 1;
                    if *count == 0 {
                        counts.remove(term.as_str());
                    }
                }
            }
            start += 1;
        }
        let value = (counts.len(), occurrences);
        // As long as no term drops out, the excerpt grows with the following pieces.
        let grows = best.0.start == start && value.0 >= best.1.0;
        if best.0.is_empty() || value > best.1 || grows {
            best = (start..end + 1, value);
        }
    }
    let chosen = &pieces[best.0];
    match (chosen.first(), chosen.last()) {
        (Some(first), Some(last)) => &text[first.range.start..last.range.end],
        _ => "",
    }
}

fn pieces(text: &str, terms: &HashSet<String>) -> Vec<Piece> {
    let mut pieces = vec![];
    let (mut at, mut chars) = (0, 0);
    for run in text.split_inclusive(char::is_whitespace) {
        let word = run.trim_end();
        let most = if word.is_ascii() { MAX_EXCERPT_CHARS } else { MAX_RUN_CHARS };
        let mut start = 0;
        while start < word.len() {
            let end = word[start..].char_indices().nth(most).map_or(word.len(), |(end, _)| start + end);
            let part = &word[start..end];
            let count = part.chars().count();
            let found = words(part).into_iter().map(|word| word.term);
            pieces.push(Piece {
                range: at + start..at + end,
                chars: chars..chars + count,
                terms: found.filter(|term| terms.contains(term)).collect(),
            });
            chars += count;
            start = end;
        }
        chars += run[word.len()..].chars().count();
        at += run.len();
    }
    pieces
}
