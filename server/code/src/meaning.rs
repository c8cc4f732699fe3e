//! The text of a chunk that is embedded: shorter, with the same meaning.
//!
//! Code has few words, and repeats each of them often. So identifiers are cut into their parts, punctuation is dropped, and only the
//! first occurrence of a word is kept. A chunk then has a third of the tokens, which makes embedding three times as fast, and the
//! model, which was trained on sentences, sees words that it knows.

use std::collections::HashSet;

use tabellion_retrieval::TextKey;

use crate::facts::ChunkFacts;

/// Characters of a word; longer ones are data.
const MAX_WORD: usize = 60;
/// The recipe of [`Meant::condensed`]. A change of it needs a new name here, which keeps the vectors of both apart.
const RECIPE: &str = "words, each once";

/// The embedded parts of a chunk: the symbol that it is about, and its text.
pub(crate) struct Meant<'f> {
    symbol: &'f str,
    content: &'f str,
}

/// Returns the embedded parts of each chunk of a file.
pub(crate) fn of_chunks<'f>(chunks: &'f [ChunkFacts], text: &'f str) -> impl Iterator<Item = Meant<'f>> {
    let mut first = 0;
    chunks.iter().map(move |chunk| {
        let end = first + chunk.bytes as usize;
        let content = text.get(first..end).unwrap_or_default();
        first = end;
        Meant { symbol: chunk.about().map_or("", |symbol| &symbol.path), content }
    })
}

impl Meant<'_> {
    /// Returns the key of its vector. It is that of the source, not of the condensed text: keys are needed of all chunks, texts only of
    /// those that are embedded.
    pub(crate) fn key(&self) -> TextKey {
        TextKey::from_text(&[RECIPE, self.symbol, self.content].join("\0"))
    }

    /// Returns the text that is embedded.
    pub(crate) fn condensed(&self) -> String {
        condensed(&[self.symbol, self.content])
    }
}

/// Returns the words of texts, each once.
fn condensed(texts: &[&str]) -> String {
    let mut seen = HashSet::new();
    let mut condensed = String::new();
    let mut take = |word: &str| {
        let word = word.to_lowercase();
        if !seen.contains(&word) {
            condensed.push_str(&word);
            condensed.push(' ');
            seen.insert(word);
        }
    };
    let is_separator = |char: char| char.is_ascii() && !(char.is_ascii_alphanumeric() || char == '\'');
    for run in texts.iter().flat_map(|text| text.split(is_separator)) {
        let run = run.trim_matches('\'');
        if run.len() <= MAX_WORD {
            parts(run).for_each(&mut take);
        }
    }
    condensed
}

/// Cuts `parseHTTPHeader` before capitals that begin a word.
fn parts(run: &str) -> impl Iterator<Item = &str> {
    let mut rest = run;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let chars: Vec<(usize, char)> = rest.char_indices().collect();
        let begins = |at: usize| {
            let (before, own) = (chars[at - 1].1, chars[at].1);
            let after = chars.get(at + 1).is_some_and(|(_, after)| after.is_lowercase());
            own.is_uppercase()
                && (before.is_lowercase() || before.is_numeric() || (before.is_uppercase() && after))
        };
        let end = (1..chars.len()).find(|at| begins(*at)).map_or(rest.len(), |at| chars[at].0);
        let (part, others) = rest.split_at(end);
        rest = others;
        Some(part)
    })
}
