//! Search by words and by meaning: notes are cut into chunks, and a note's score is that of its best chunk.

mod chunk;
mod excerpt;
mod query;

use std::collections::BTreeSet;

use tabellion_retrieval::{Document, Facet, Text};

#[cfg(test)]
pub(crate) use self::chunk::MAX_CHUNK_BYTES;
pub(crate) use self::chunk::chunks;
pub use self::{
    excerpt::MAX_EXCERPT_CHARS,
    query::{NoteHit, NoteHits, NoteIndex, NoteQuery, SearchError},
};
use crate::{Note, tag};

/// Names of facets.
const TYPE: &str = "type";
const TAG: &str = "tag";
/// The facet of notes that are not sensitive, and its value.
const OPEN: (&str, &str) = ("sensitive", "false");

/// Weights of words in the title, tags and aliases, and headings of a chunk, compared with those in its text.
const TITLE: u32 = 4;
const TAGS: u32 = 3;
const HEADINGS: u32 = 2;

/// Returns the documents of a note's chunks, in their order; ids and groups are the caller's.
pub(crate) fn documents(note: &Note, created: i64) -> Vec<Document> {
    let metadata = &note.metadata;
    let keys: BTreeSet<_> = note.tags().iter().flat_map(|tag| tag::keys(tag)).collect();
    let tags = keys.iter().map(|key| Facet::new(TAG, key));
    let open = (!metadata.sensitive).then(|| Facet::new(OPEN.0, OPEN.1));
    let facets: Vec<_> =
        [Facet::new(TYPE, metadata.note_type())].into_iter().chain(open).chain(tags).collect();
    let aliases = metadata.aliases().map_or(vec![], |(_, aliases)| aliases);
    let names: Vec<_> = metadata.tags.iter().chain(&aliases).map(String::as_str).collect();
    let document = |(place, chunk): (i64, chunk::Chunk)| Document {
        texts: vec![
            Text::weighted(&note.title, TITLE),
            Text::weighted(names.join(" "), TAGS),
            Text::weighted(chunk.heading_path(), HEADINGS),
            Text::plain(&note.text[chunk.text.clone()]),
        ],
        meaning: Some(meaning(note, &chunk)),
        facets: facets.clone(),
        time: Some(created),
        seq: place,
        ..Document::default()
    };
    (0..).zip(chunks(note)).map(document).collect()
}

/// Returns the text that is compared with the meaning of a query: a chunk's text below the title and the headings above it.
pub(crate) fn meaning(note: &Note, chunk: &chunk::Chunk) -> String {
    let above = [note.title.clone(), chunk.heading_path()];
    let above: Vec<String> = above.into_iter().filter(|text| !text.is_empty()).collect();
    format!("{}\n{}", above.join(" › "), &note.text[chunk.text.clone()])
}
