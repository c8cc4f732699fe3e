//! Terms: the keys of posting lists, of documents and of queries.
//!
//! | first byte | of | example |
//! |---|---|---|
//! | `w` | a word of a text | `w` `parseheader` |
//! | `p` | a part of an identifier without hyphens | `p` `header` |
//! | `f` | a facet: length of the name, name, value | `f` 4 `kind` `note` |
//! | `t` | a calendar unit of the document's time, as `dates` writes it | `t` `2023-05` |

use std::collections::BTreeMap;

use crate::{
    Document,
    dates::{dates_in, units_of},
    engine::push_bytes,
    words::{query_terms, words},
};

/// Number of different words that are searched for; further words of a query are ignored.
const MAX_QUERY_WORDS: usize = 128;

/// The terms of a document, with the occurrences of each.
pub(crate) type Terms = BTreeMap<Vec<u8>, u32>;

/// Returns a document's terms, and its length in words: stop words and parts of identifiers do not count.
pub(crate) fn of_document(document: &Document) -> (Terms, u32) {
    let mut terms = Terms::new();
    let mut length: u32 = 0;
    for text in document.texts.iter().filter(|text| text.weight > 0) {
        for word in words(&text.text) {
            let term = if word.is_inner { part_term(&word.term) } else { word_term(&word.term) };
            let count = terms.entry(term).or_default();
            *count = count.saturating_add(text.weight);
            if !word.is_stop_word && !word.is_part {
                length = length.saturating_add(text.weight);
            }
        }
    }
    for facet in &document.facets {
        terms.insert(facet_term(&facet.name, &facet.value), 1);
    }
    for unit in document.time.iter().flat_map(|time| units_of(*time)) {
        terms.insert(date_term(&unit), 1);
    }
    (terms, length)
}

/// The terms of a query.
#[derive(Debug, Default)]
pub(crate) struct QueryTerms {
    /// Terms of words, each as a whole and as a part; a hit has at least one.
    pub(crate) words: Vec<[Vec<u8>; 2]>,
    /// Terms of dates; they raise the scores of hits.
    pub(crate) dates: Vec<Vec<u8>>,
}

/// Returns the terms of a query.
pub(crate) fn of_query(query: &str) -> QueryTerms {
    let words = query_terms(&words(query), MAX_QUERY_WORDS);
    QueryTerms {
        words: words.iter().map(|word| [word_term(word), part_term(word)]).collect(),
        dates: dates_in(query).iter().map(|unit| date_term(unit)).collect(),
    }
}

fn word_term(word: &str) -> Vec<u8> {
    [b"w", word.as_bytes()].concat()
}

fn part_term(part: &str) -> Vec<u8> {
    [b"p", part.as_bytes()].concat()
}

fn date_term(unit: &str) -> Vec<u8> {
    [b"t", unit.as_bytes()].concat()
}

pub(crate) fn facet_term(name: &str, value: &str) -> Vec<u8> {
    let mut term = vec![b'f'];
    // With its length, so that different pairs of name and value have different terms.
    push_bytes(&mut term, name.as_bytes());
    term.extend_from_slice(value.as_bytes());
    term
}
