//! Terms: what files and queries are cut into.
//!
//! | first byte | of | example |
//! |---|---|---|
//! | `w` | a word of the text: an identifier whole, or a part of it | `w` `parsehttpheader`, `w` `header` |
//! | `d` | the whole name of something that the chunk defines | `d` `parsehttpheader` |
//! | `x` | that name as it is spelled | `x` `parseHTTPHeader` |
//! | `e` | a part of such a name | `e` `header` |
//! | `p` | a part of the names of the file's folders; in the file's first chunk | `p` `server` |
//! | `f` | a part of the file's name without its extension; in the file's first chunk | `f` `header` |
//! | `n` | the file's whole name without its extension; in the file's first chunk | `n` `httpheader` |
//! | `k` | the kind of what the chunk is about | `k` `function` |
//! | `s` | the whole name of what the chunk is about | `s` `parsehttpheader` |

use hashbrown::HashMap;
use tabellion_retrieval::words;
use tabellion_syntax::Outline;

use crate::segment::kind;

/// Number of a term within an [`Interner`].
pub(crate) type TermId = u32;

/// Terms, numbered, and the words of identifiers that were seen before: sources repeat theirs.
#[derive(Default)]
pub(crate) struct Interner {
    terms: HashMap<Vec<u8>, TermId>,
    identifiers: HashMap<String, Box<[TermId]>>,
    /// By term: how often it was counted so far. Zero between two chunks.
    counts: Vec<u32>,
    /// A term that is looked up.
    term: Vec<u8>,
}

/// What a chunk is found by: each term with how often it occurs, by number; and the chunk's length in identifiers.
pub(crate) struct ChunkTerms {
    pub(crate) counts: Vec<(TermId, u32)>,
    pub(crate) length: u32,
}

impl Interner {
    pub(crate) fn len(&self) -> usize {
        self.terms.len()
    }

    /// Returns all terms, by number.
    pub(crate) fn into_terms(self) -> Vec<Vec<u8>> {
        let mut terms = vec![vec![]; self.terms.len()];
        for (term, id) in self.terms {
            terms[id as usize] = term;
        }
        terms
    }

    fn id(&mut self, kind: u8, word: &str) -> TermId {
        self.term.clear();
        self.term.push(kind);
        self.term.extend_from_slice(word.as_bytes());
        let next = self.terms.len() as TermId;
        *self.terms.entry_ref(self.term.as_slice()).or_insert(next)
    }

    /// Adds the terms of an identifier.
    fn add_words(&mut self, identifier: &str, into: &mut Vec<TermId>) {
        if let Some(known) = self.identifiers.get(identifier) {
            into.extend_from_slice(known);
            return;
        }
        let ids: Box<[TermId]> = words(identifier)
            .iter()
            .map(|word| self.id(b'w', &word.term))
            .collect();
        into.extend_from_slice(&ids);
        self.identifiers.insert(identifier.to_owned(), ids);
    }

    /// Returns the terms of each chunk of a file.
    pub(crate) fn chunks(&mut self, path: &str, source: &str, outline: &Outline) -> Vec<ChunkTerms> {
        let mut all = vec![];
        let mut ids = vec![];
        for (at, chunk) in outline.chunks.iter().enumerate() {
            ids.clear();
            let mut length = 0;
            for identifier in identifiers(&source[chunk.bytes.clone()]) {
                self.add_words(identifier, &mut ids);
                length += 1;
            }
            for symbol in &outline.symbols[chunk.defines.clone()] {
                // A prototype is not where something is defined.
                if symbol.has_body {
                    ids.push(self.id(b'd', &whole(&symbol.name)));
                    ids.push(self.id(b'x', &symbol.name));
                    for part in parts(&symbol.name) {
                        ids.push(self.id(b'e', &part));
                    }
                }
            }
            let about = outline.about(chunk);
            ids.push(self.id(b'k', kind(path, about)));
            if let Some(symbol) = about {
                ids.push(self.id(b's', &whole(&symbol.name)));
            }
            if at == 0 {
                ids.push(self.id(b'n', &whole(stem_of(path))));
                let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
                for part in parts(folders) {
                    ids.push(self.id(b'p', &part));
                }
                for part in parts(stem_of(name)) {
                    ids.push(self.id(b'f', &part));
                }
            }
            all.push(ChunkTerms {
                counts: self.counted(&ids),
                length,
            });
        }
        all
    }

    /// Returns each term once, with how often it is there.
    fn counted(&mut self, ids: &[TermId]) -> Vec<(TermId, u32)> {
        self.counts.resize(self.terms.len(), 0);
        for id in ids {
            self.counts[*id as usize] += 1;
        }
        let mut counted = vec![];
        for id in ids {
            match std::mem::take(&mut self.counts[*id as usize]) {
                0 => {}
                count => counted.push((*id, count)),
            }
        }
        counted
    }
}

/// Cuts a text into runs of letters, digits and underscores.
pub(crate) fn identifiers(text: &str) -> impl Iterator<Item = &str> {
    text.split(|char: char| char.is_ascii() && !(char.is_ascii_alphanumeric() || char == '_'))
        .filter(|run| !run.is_empty() && run.len() <= MAX_IDENTIFIER)
}

/// Bytes of an identifier that is looked into; what is longer is data.
const MAX_IDENTIFIER: usize = 200;

/// Returns a name as it is compared: without case, and without what joins its parts.
pub(crate) fn whole(name: &str) -> String {
    name.chars()
        .filter(|char| char.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .take(100)
        .collect()
}

/// Returns the parts of a name or path, as words are indexed, each once.
pub(crate) fn parts(name: &str) -> Vec<String> {
    let mut parts: Vec<String> = vec![];
    for run in identifiers(name) {
        let cut = words(run);
        let compound = cut.iter().any(|word| word.is_part);
        for word in cut {
            if (word.is_part || !compound) && !parts.contains(&word.term) {
                parts.push(word.term);
            }
        }
    }
    parts
}

/// Returns a file's name without its extension.
pub(crate) fn stem_of(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    match name.rfind('.') {
        Some(0) | None => name,
        Some(dot) => &name[..dot],
    }
}
