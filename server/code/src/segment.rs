//! Segments: the posting lists of some files, made in one go and never changed.
//!
//! A segment is made from texts alone, by any thread, without the database. Its chunks are numbered from 0; the offset of its numbers
//! among those of all segments is determined when it is stored.

use tabellion_retrieval::{
    TextKey,
    engine::{pull_bytes, push_bytes, push_entry},
};
use tabellion_syntax::outline;

use crate::{
    facts::ChunkFacts,
    filter::{WordFilter, WordHash},
    meaning,
    terms::{Interner, TermId},
};

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
                push_entry(entries, chunk - *last, count);
                *last = chunk;
            }
        }
        let facts = |chunk| ChunkFacts::new(&source.path, &outline, chunk);
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
            let at = WordHash::new(word).bucket(buckets.len());
            push_bytes(&mut buckets[at], word);
            push_bytes(&mut buckets[at], lists);
        }
        Segment {
            words: WordFilter::from_words(words.iter().map(|(word, _)| *word)),
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
