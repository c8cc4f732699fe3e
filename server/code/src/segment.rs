//! Segments: the posting lists of some files, made in one go and never changed.
//!
//! A segment is made from texts alone, by any thread, without the database. Its chunks are numbered from 0; the offset of its numbers
//! among those of all segments is determined when it is stored.

use serde::{Deserialize, Serialize};
use tabellion_retrieval::TextKey;
use tabellion_syntax::{Chunk, Outline, Symbol, outline};

use crate::{
    filter::{WordFilter, WordHash},
    meaning,
    terms::{Interner, TermId},
};

/// Prefix of the path of a commit's message.
const COMMIT: &str = "commit:";
/// The kind of a chunk of a commit's message.
const COMMIT_KIND: &str = "commit";

/// Returns the path of a commit's message, as an entry of a tree. Its chunks are of the kind `commit`.
pub fn commit_path(id: &str) -> String {
    format!("{COMMIT}{id}")
}

/// Returns true if a path is that of a commit's message.
fn is_commit(path: &str) -> bool {
    let id = path.strip_prefix(COMMIT).unwrap_or_default();
    id.len() == 40 && id.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns the kind of a chunk that is about `symbol`.
pub(crate) fn kind(path: &str, symbol: Option<&Symbol>) -> &'static str {
    match symbol {
        Some(symbol) => symbol.kind.word(),
        None if is_commit(path) => COMMIT_KIND,
        None => "text",
    }
}

/// A file that is to be indexed.
pub(crate) struct Source {
    /// Its path in the collection, with `/`.
    pub(crate) path: String,
    /// Its branch; empty for files of a folder.
    pub(crate) branch: String,
    /// SHA-1 as git computes it for a blob.
    pub(crate) blob: [u8; 20],
    pub(crate) text: String,
}

/// Facts about a chunk that a hit shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ChunkFacts {
    /// Length in bytes: chunks follow one another.
    pub(crate) bytes: u32,
    pub(crate) start_line: u32,
    pub(crate) end_line: u32,
    /// The kind of its symbol.
    pub(crate) kind: String,
    /// The symbols that begin in it, and the one that it is about; and the number of the latter.
    pub(crate) symbols: Vec<SymbolFacts>,
    pub(crate) about: Option<usize>,
}

impl ChunkFacts {
    fn of(path: &str, outline: &Outline, chunk: &Chunk) -> Self {
        let (start, end) = (*chunk.lines.start(), *chunk.lines.end());
        let facts = |symbol: &Symbol| SymbolFacts {
            name: symbol.name.clone(),
            path: symbol.path.clone(),
            kind: symbol.kind.word().to_owned(),
            start_line: symbol.begins.max(start) as u32,
            end_line: (*symbol.lines.end()).min(end) as u32,
            has_body: symbol.has_body,
        };
        let before = chunk.symbol.filter(|at| !chunk.defines.contains(at));
        let all = before.into_iter().chain(chunk.defines.clone());
        Self {
            bytes: chunk.bytes.len() as u32,
            start_line: start as u32,
            end_line: end as u32,
            kind: kind(path, outline.about(chunk)).to_owned(),
            symbols: all.map(|at| facts(&outline.symbols[at])).collect(),
            about: chunk.symbol.map(|at| at.saturating_sub(chunk.defines.start)),
        }
    }

    /// Returns the symbol that the chunk is about.
    pub(crate) fn about(&self) -> Option<&SymbolFacts> {
        self.symbols.get(self.about?)
    }
}

/// A symbol of a chunk. There are several times as many as chunks; to save space they are stored as [`Row`]s.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Row", into = "Row")]
pub(crate) struct SymbolFacts {
    pub(crate) name: String,
    pub(crate) path: String,
    pub(crate) kind: String,
    /// Its lines in the chunk, with the comments before it.
    pub(crate) start_line: u32,
    pub(crate) end_line: u32,
    /// True if it is defined here, not only declared.
    pub(crate) has_body: bool,
}

/// Name (empty if it is the path's last word), path, kind, lines, and true if it has a body.
type Row = (String, String, String, u32, u32, bool);

impl From<Row> for SymbolFacts {
    fn from((name, path, kind, start_line, end_line, has_body): Row) -> Self {
        let name = if name.is_empty() {
            last_word(&path).to_owned()
        } else {
            name
        };
        Self {
            name,
            path,
            kind,
            start_line,
            end_line,
            has_body,
        }
    }
}

impl From<SymbolFacts> for Row {
    fn from(facts: SymbolFacts) -> Self {
        let name = if last_word(&facts.path) == facts.name {
            String::new()
        } else {
            facts.name
        };
        (
            name,
            facts.path,
            facts.kind,
            facts.start_line,
            facts.end_line,
            facts.has_body,
        )
    }
}

fn last_word(path: &str) -> &str {
    path.rsplit(' ').next().unwrap_or(path)
}

/// A file of a segment.
pub(crate) struct IndexedFile {
    pub(crate) source: Source,
    /// Number of its first chunk in the segment.
    pub(crate) first: u32,
    pub(crate) chunks: Vec<ChunkFacts>,
    /// Length of each chunk, in identifiers.
    pub(crate) lengths: Vec<u32>,
    /// Key of the text that is embedded for each chunk.
    pub(crate) texts: Vec<TextKey>,
}

/// Files and their terms.
pub(crate) struct Segment {
    pub(crate) files: Vec<IndexedFile>,
    pub(crate) chunks: u32,
    pub(crate) words: WordFilter,
    /// Words by their hash, each with its lists: for each kind of term, the chunks that have it.
    pub(crate) buckets: Vec<Vec<u8>>,
}

/// Mean bytes of words and lists in a bucket: most buckets fit into a page of the database, and few words are passed over.
const BUCKET_BYTES: usize = 2048;

/// Collects files into a segment.
#[derive(Default)]
pub(crate) struct Builder {
    interner: Interner,
    files: Vec<IndexedFile>,
    chunks: u32,
    /// By term: encoded entries, and the last chunk in them.
    postings: Vec<(Vec<u8>, u32)>,
    bytes: usize,
}

impl Builder {
    /// Returns the bytes of texts so far.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Cuts and adds a file.
    pub(crate) fn add(&mut self, source: Source) {
        let outline = outline(&source.path, &source.text);
        let terms = self.interner.chunks(&source.path, &source.text, &outline);
        self.postings.resize_with(self.interner.len(), Default::default);
        let first = self.chunks;
        for (chunk, terms) in (first..).zip(&terms) {
            for &(id, count) in &terms.counts {
                let (entries, last) = &mut self.postings[id as usize];
                let step = if entries.is_empty() { chunk } else { chunk - *last };
                push(entries, u64::from(step) << 1 | u64::from(count > 1));
                if count > 1 {
                    push(entries, u64::from(count));
                }
                *last = chunk;
            }
        }
        let facts = |chunk| ChunkFacts::of(&source.path, &outline, chunk);
        let chunks: Vec<ChunkFacts> = outline.chunks.iter().map(facts).collect();
        self.chunks += chunks.len() as u32;
        let texts = meaning::of_chunks(&chunks, &source.text).map(|meant| meant.key());
        let texts = texts.collect();
        self.bytes += source.text.len();
        self.files.push(IndexedFile {
            first,
            lengths: terms.iter().map(|terms| terms.length).collect(),
            chunks,
            texts,
            source,
        });
    }

    pub(crate) fn build(self) -> Segment {
        let mut terms: Vec<_> = self.interner.into_terms().collect();
        terms.sort_unstable();
        let lists = |of_word: &[(Vec<u8>, u8, TermId)]| {
            let mut lists = vec![];
            for (_, kind, id) in of_word {
                let (entries, _) = &self.postings[*id as usize];
                lists.push(*kind);
                push_bytes(&mut lists, entries);
            }
            lists
        };
        let of_words = terms.chunk_by(|(a, ..), (b, ..)| a == b);
        let words: Vec<(&[u8], Vec<u8>)> = of_words.map(|terms| (&*terms[0].0, lists(terms))).collect();
        let bytes: usize = words.iter().map(|(word, lists)| word.len() + lists.len()).sum();
        let mut buckets = vec![vec![]; bytes.div_ceil(BUCKET_BYTES)];
        for (word, lists) in &words {
            let at = WordHash::of(word).bucket(buckets.len());
            push_bytes(&mut buckets[at], word);
            push_bytes(&mut buckets[at], lists);
        }
        Segment {
            words: WordFilter::of(words.iter().map(|(word, _)| *word)),
            files: self.files,
            chunks: self.chunks,
            buckets,
        }
    }
}

/// Returns the lists of a word, which a bucket may have. Stops at bytes that are not a word.
pub(crate) fn find<'b>(mut bucket: &'b [u8], word: &[u8]) -> Option<&'b [u8]> {
    loop {
        let found = pull_bytes(&mut bucket)?;
        let lists = pull_bytes(&mut bucket)?;
        if found == word {
            return Some(lists);
        }
    }
}

/// Returns the lists of a word, each with its kind. Stops at bytes that are not a list.
pub(crate) fn lists(mut bytes: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    std::iter::from_fn(move || {
        let kind = *bytes.split_off_first()?;
        Some((kind, pull_bytes(&mut bytes)?))
    })
}

/// Calls `each` with each chunk of a posting list, numbered within its segment, and its count of the term. Stops at bytes that are not an
/// entry.
pub(crate) fn read(mut entries: &[u8], mut each: impl FnMut(u32, u32)) {
    let mut chunk: u64 = 0;
    while let Some(step) = pull(&mut entries) {
        chunk += step >> 1;
        let count = if step & 1 == 1 {
            pull(&mut entries).unwrap_or(1)
        } else {
            1
        };
        let Ok(number) = u32::try_from(chunk) else { return };
        each(number, u32::try_from(count).unwrap_or(u32::MAX));
    }
}

/// Takes a number, encoded by [`push`], from the front; `None` if there is none.
fn pull(entries: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = *entries.split_off_first()?;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

/// Takes bytes, encoded by [`push_bytes`], from the front.
fn pull_bytes<'b>(from: &mut &'b [u8]) -> Option<&'b [u8]> {
    let length = usize::try_from(pull(from)?).ok()?;
    from.split_off(..length)
}

/// Appends the number of the bytes, then the bytes.
fn push_bytes(to: &mut Vec<u8>, bytes: &[u8]) {
    push(to, bytes.len() as u64);
    to.extend_from_slice(bytes);
}

/// Appends a number in seven bits a byte, the lowest first.
fn push(entries: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        entries.push(value as u8 | 0x80);
        value >>= 7;
    }
    entries.push(value as u8);
}
