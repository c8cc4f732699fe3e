//! Terms of files and queries. A term is a word and its kind.

use hashbrown::HashMap;
use tabellion_retrieval::words;
use tabellion_syntax::{Outline, Symbol, SymbolKind};

use crate::{content::composed, facts::kind};

/// The kind of a word: its source. The examples are of a chunk that defines `parseHTTPHeader` in `server/http_header.rs`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    /// The text: an identifier whole, or a part of it. `parsehttpheader`, `header`.
    Text = b'w',
    /// The whole name of a symbol that the chunk defines: `parsehttpheader`.
    Defined = b'd',
    /// That name as it is spelled, unless the symbol is a part of the type with that name: `parseHTTPHeader`.
    Spelled = b'x',
    /// A part of such a name: `header`.
    NamePart = b'e',
    /// A part of the names of the file's folders, in the file's first chunk: `server`.
    FolderPart = b'p',
    /// A part of the file's name without its extension, in the file's first chunk: `header`.
    FilePart = b'f',
    /// The file's whole name without its extension, in the file's first chunk: `httpheader`.
    File = b'n',
    /// The kind of the chunk's main symbol, and of symbols that begin in it: `function`.
    About = b'k',
    /// The name of each of these, as filters compare it: `parsehttpheader`.
    Symbol = b's',
    /// The same of members that are only declared, such as fields without a value: most have names that are used everywhere, so they are
    /// found by qualified names and by filters, and their names alone count as any word.
    Member = b'm',
}

/// Number of a term within an [`Interner`].
pub(crate) type TermId = u32;

/// Terms, numbered, and the words of identifiers that were seen before: sources repeat theirs.
#[derive(Default)]
pub(crate) struct Interner {
    /// Words, each with the byte of its kind behind it.
    terms: HashMap<Vec<u8>, TermId>,
    identifiers: HashMap<String, Box<[TermId]>>,
    /// By term: occurrences so far. Zero between two chunks.
    counts: Vec<u32>,
    /// A term that is looked up.
    term: Vec<u8>,
}

/// The terms of a chunk: each by number, with its occurrences; and the chunk's length in identifiers.
pub(crate) struct ChunkTerms {
    pub(crate) counts: Vec<(TermId, u32)>,
    pub(crate) length: u32,
}

impl Interner {
    pub(crate) fn len(&self) -> usize {
        self.terms.len()
    }

    /// Returns all terms: word, kind, number.
    pub(crate) fn into_terms(self) -> impl Iterator<Item = (Vec<u8>, u8, TermId)> {
        self.terms.into_iter().filter_map(|(mut term, id)| {
            let kind = term.pop()?;
            Some((term, kind, id))
        })
    }

    fn id(&mut self, kind: Kind, word: &str) -> TermId {
        self.term.clear();
        self.term.extend_from_slice(word.as_bytes());
        self.term.push(kind as u8);
        let next = self.terms.len() as TermId;
        *self.terms.entry_ref(self.term.as_slice()).or_insert(next)
    }

    /// Adds the terms of an identifier.
    fn add_words(&mut self, identifier: &str, into: &mut Vec<TermId>) {
        if let Some(known) = self.identifiers.get(identifier) {
            into.extend_from_slice(known);
            return;
        }
        let ids: Box<[TermId]> =
            words(identifier).iter().map(|word| self.id(Kind::Text, &word.term)).collect();
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
                // A declaration is not a definition.
                if !symbol.has_body {
                    continue;
                }
                ids.push(self.id(Kind::Defined, &whole(&symbol.name)));
                if !is_part_of_type(symbol) {
                    ids.push(self.id(Kind::Spelled, &composed(&symbol.name)));
                }
                for part in parts(&symbol.name) {
                    ids.push(self.id(Kind::NamePart, &part));
                }
            }
            let about = outline.about(chunk);
            ids.push(self.id(Kind::About, kind(path, about)));
            for symbol in outline.symbols[chunk.defines.clone()].iter().chain(about) {
                ids.push(self.id(Kind::About, symbol.kind.word()));
                let is_member = symbol.kind == SymbolKind::Constant && !symbol.has_body;
                let name = if is_member { Kind::Member } else { Kind::Symbol };
                // The shown path may end in another word: `TEST(Suite, Works)`.
                ids.push(self.id(name, &name_key(&symbol.name)));
                ids.push(self.id(name, &last_key(&symbol.path)));
            }
            if at == 0 {
                ids.push(self.id(Kind::File, &whole(stem_of(path))));
                let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
                for part in parts(folders) {
                    ids.push(self.id(Kind::FolderPart, &part));
                }
                for part in parts(stem_of(name)) {
                    ids.push(self.id(Kind::FilePart, &part));
                }
            }
            all.push(ChunkTerms { counts: self.counted(&ids), length });
        }
        all
    }

    /// Returns each term once, with its occurrences.
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

/// Returns true for an implementation or extension of a type, and for a constructor that has the type's name: the type is defined elsewhere.
fn is_part_of_type(symbol: &Symbol) -> bool {
    let outer = || symbol.path.rsplit_once(" > ").or_else(|| symbol.path.rsplit_once("::"));
    let has_name_of_type = || outer().and_then(|(outer, _)| identifiers(outer).last()) == Some(&*symbol.name);
    match symbol.kind {
        SymbolKind::Impl => true,
        SymbolKind::Function | SymbolKind::Method => has_name_of_type(),
        _ => false,
    }
}

/// Cuts a text into runs of letters, digits and underscores.
pub(crate) fn identifiers(text: &str) -> impl Iterator<Item = &str> {
    text.split(|char: char| char.is_ascii() && !(char.is_ascii_alphanumeric() || char == '_'))
        .filter(|run| !run.is_empty() && run.len() <= MAX_IDENTIFIER)
}

/// Maximum bytes of an identifier that is indexed; longer ones are data.
const MAX_IDENTIFIER: usize = 200;

/// Returns a name in the form that is compared: composed, in lower case, without the marks that join its parts.
pub(crate) fn whole(name: &str) -> String {
    let letters = composed(name);
    letters.chars().filter(|char| char.is_alphanumeric()).flat_map(char::to_lowercase).take(100).collect()
}

/// Returns a name in the form that filters compare: [`whole`], or unchanged if it is an operator.
pub(crate) fn name_key(name: &str) -> String {
    let key = whole(name);
    if key.is_empty() { name.trim().to_owned() } else { key }
}

/// Returns the key of the last name in a text.
pub(crate) fn last_key(text: &str) -> String {
    name_key(identifiers(text).last().unwrap_or(text))
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
