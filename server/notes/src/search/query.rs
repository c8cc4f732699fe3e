//! A search of notes by their words and their meaning.

use std::{
    cmp::{Ordering, Reverse},
    path::Path,
};

use tabellion_retrieval::{Filters, Hit, Index, IndexError, Nearness, Reported, Search, TextKey};

use super::{
    OPEN, TAG, TYPE, chunks,
    excerpt::{excerpt, query_terms},
    meaning,
};
use crate::{Catalogue, CatalogueError, Entry, Selection, identity::parse_chunk_key, tag};

/// Version of the conversion of notes to documents. A different name has the index rebuilt.
const RECIPE: &str = "notes 6";
/// Number of hits requested beyond the limit, so that equal ones at its end are in order.
const BEYOND: usize = 16;

/// A query. Any text is valid.
#[derive(Debug, Clone, Default)]
pub struct NoteQuery {
    /// The text.
    pub text: String,
    /// Conditions for all hits, applied before ranking. All notes of a catalogue are canonical.
    pub selection: Selection,
    /// Maximum number of hits.
    pub limit: usize,
    /// Set for excerpts in hits.
    pub excerpts: bool,
    /// Set to search sensitive notes too. Without it, they change neither hits nor scores.
    pub sensitive: bool,
}

/// Result of a search.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NoteHits {
    /// Best first; of equal scores the newest first, then by id.
    pub hits: Vec<NoteHit>,
    /// Number of notes that match, without the limit.
    pub total: usize,
    /// True if the ranking uses the meaning of notes, in addition to their words.
    pub by_meaning: bool,
}

/// A note that contains a word of the query, or is near to its meaning.
#[derive(Debug, Clone, PartialEq)]
pub struct NoteHit {
    /// The note.
    pub entry: Entry,
    /// The score of its best chunk, in (0, 1).
    pub score: f64,
    /// The passage of that chunk with most of the query's words: at most [`MAX_EXCERPT_CHARS`](crate::MAX_EXCERPT_CHARS) characters,
    /// cut between words. Empty if the chunk is a heading alone.
    pub excerpt: Option<String>,
}

/// Reason why notes can't be searched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SearchError {
    /// The catalogue can't be read.
    #[error(transparent)]
    Catalogue(#[from] CatalogueError),
    /// The index can't be read or updated.
    #[error(transparent)]
    Index(#[from] IndexError),
}

/// An index of a catalogue's notes, in a separate file.
#[derive(Debug)]
pub struct NoteIndex(Index);

impl NoteIndex {
    /// Opens the index in the file `path`, whose folder exists. The next search fills a missing one.
    ///
    /// # Errors
    /// If the file can't be created or written.
    pub fn open(path: &Path) -> Result<Self, IndexError> {
        Index::open(path, RECIPE).map(Self)
    }

    /// Updates the index to the catalogue's change `needed`, so that a search need not.
    ///
    /// # Errors
    /// If the catalogue can't be read, or the index can't be written.
    pub fn update(&self, catalogue: &Catalogue, needed: i64) -> Result<(), IndexError> {
        self.0.update(catalogue, needed)
    }

    /// Returns the keys of the texts whose meaning can be compared.
    ///
    /// # Errors
    /// If the index can't be read.
    pub fn texts(&self) -> Result<Vec<TextKey>, IndexError> {
        self.0.texts()
    }

    /// Returns at most `max` of these texts that `wants` accepts. A note that was changed or removed since is left out.
    ///
    /// # Errors
    /// If the index or the catalogue can't be read.
    pub fn texts_of(
        &self,
        catalogue: &Catalogue,
        wants: &dyn Fn(&TextKey) -> bool,
        max: usize,
    ) -> Result<Vec<String>, SearchError> {
        let chunks_wanted = self.0.documents_of(wants, max)?;
        let texts = catalogue.read(|notes| {
            let mut texts = vec![];
            for key in &chunks_wanted {
                let Some((id, place)) = parse_chunk_key(key) else {
                    continue;
                };
                let Some(entry) = notes.get(id)? else {
                    continue;
                };
                let note = notes.note(&entry)?;
                let chunk = chunks(&note).into_iter().nth(place as usize);
                texts.extend(chunk.map(|chunk| meaning(&note, &chunk)));
            }
            Ok(texts)
        });
        Ok(texts?)
    }

    /// Searches by words, and by meaning as far as `nearness` knows it. Updates the index first, if it lacks the catalogue's change
    /// `needed`, and calls `report` before each part with the number of the last change that it has.
    ///
    /// # Errors
    /// [`SearchError`].
    pub fn search(
        &self,
        catalogue: &Catalogue,
        needed: i64,
        query: &NoteQuery,
        nearness: Option<&dyn Nearness>,
        report: &dyn Fn(i64),
    ) -> Result<NoteHits, SearchError> {
        let source = Reported(catalogue, report);
        let terms = query_terms(&query.text);
        let ids = query.selection.ids.as_ref();
        let mut asked = query.limit + BEYOND;
        loop {
            let found = self.0.search_near(&source, needed, &search(query, asked), nearness)?;
            let by_meaning = found.by_meaning;
            let is_all = found.hits.len() < asked;
            let (mut hits, total) = (found.hits, found.total);
            if !is_all && (ids.is_some() || ends_in_equals(&hits, query.limit)) {
                asked = asked.saturating_mul(4);
                continue;
            }
            let outcome = catalogue.read(|notes| {
                let mut entries = vec![];
                for hit in hits.drain(..) {
                    // Notes removed meanwhile are not hits.
                    let Some((id, place)) = parse_chunk_key(&hit.id) else {
                        continue;
                    };
                    if ids.is_none_or(|ids| ids.contains(&id))
                        && let Some(entry) = notes.get(id)?
                        // It may have become sensitive meanwhile.
                        && (query.sensitive || !entry.metadata.sensitive)
                    {
                        entries.push((entry, hit.score, place));
                    }
                }
                entries.sort_by(|a, b| compare((&a.0, a.1), (&b.0, b.1)));
                let total = if ids.is_some() { entries.len() } else { total };
                entries.truncate(query.limit);
                let hits = entries.into_iter().map(|(entry, score, place)| {
                    let excerpt = query.excerpts.then(|| {
                        let note = notes.note(&entry)?;
                        let chunk = chunks(&note).into_iter().nth(place as usize);
                        let text = chunk.map_or("", |chunk| &note.text[chunk.text]);
                        Ok::<_, CatalogueError>(excerpt(text, &terms).to_owned())
                    });
                    let excerpt = excerpt.transpose()?;
                    Ok(NoteHit { entry, score, excerpt })
                });
                let hits = hits.collect::<Result<_, CatalogueError>>()?;
                Ok(NoteHits { hits, total, by_meaning })
            });
            return Ok(outcome?);
        }
    }
}

fn search(query: &NoteQuery, limit: usize) -> Search {
    let selection = &query.selection;
    let mut filters = Filters::default();
    if let Some(note_type) = &selection.note_type {
        filters = filters.with(TYPE, note_type);
    }
    for tag in &selection.tags {
        filters = filters.with(TAG, &tag::key(tag));
    }
    if !query.sensitive {
        filters = filters.with(OPEN.0, OPEN.1);
    }
    (filters.since, filters.until) = selection.seconds();
    Search::new(&query.text, limit).filtered(filters).grouped()
}

/// Returns true if hits beyond the limit may have the same score as the last one within it.
fn ends_in_equals(hits: &[Hit], limit: usize) -> bool {
    let last = hits.last().map(|hit| hit.score);
    limit > 0 && hits.get(limit - 1).map(|hit| hit.score) == last
}

fn compare(a: (&Entry, f64), b: (&Entry, f64)) -> Ordering {
    let by_score = b.1.total_cmp(&a.1);
    let key = |entry: &Entry| (Reverse(entry.created_at), entry.id);
    by_score.then_with(|| key(a.0).cmp(&key(b.0)))
}
