//! Stems of English words.

use std::collections::HashMap;

use rust_stemmers::{Algorithm, Stemmer};

use super::irregular::base_form;

/// Number of stems that are remembered while one text is cut.
const CACHE_CAPACITY: usize = 4096;

/// Reduces words to stems. Stemming is pure; a long text repeats its words, so stems are remembered.
pub(super) struct Stems {
    stemmer: Stemmer,
    known: HashMap<String, String>,
}

impl Default for Stems {
    fn default() -> Self {
        Self { stemmer: Stemmer::create(Algorithm::English), known: HashMap::new() }
    }
}

impl Stems {
    /// Returns the stem of a folded word. Words with characters other than `a` to `z` stay: they are not English.
    pub(super) fn stem(&mut self, word: String) -> String {
        if word.len() < 3 || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
            return word;
        }
        if let Some(stem) = self.known.get(&word) {
            return stem.clone();
        }
        let base = base_form(&word).unwrap_or(&word);
        let stem = self.stemmer.stem(base).into_owned();
        if self.known.len() < CACHE_CAPACITY {
            self.known.insert(word, stem.clone());
        }
        stem
    }
}
