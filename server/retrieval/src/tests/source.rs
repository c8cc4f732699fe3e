//! A source in memory, and an index that follows it.

use parking_lot::Mutex;

use crate::{
    Change, Changes, Document, Facet, Filters, Hits, Index, IndexError, Search, Source, SourceError, Text,
};

/// A log of changes; the change at place `n` has the sequence number `n + 1`.
#[derive(Default)]
pub(super) struct Log {
    pub(super) changes: Mutex<Vec<Change>>,
    /// Names the source in its marks.
    pub(super) name: &'static str,
    /// Number of changes given at once; 0 is all.
    pub(super) step: usize,
    /// True if the source can't be read.
    pub(super) fails: bool,
}

impl Log {
    pub(super) fn with_documents(documents: impl IntoIterator<Item = Document>) -> Self {
        let changes = documents.into_iter().map(Change::Put).collect();
        Self { changes: Mutex::new(changes), ..Self::default() }
    }

    pub(super) fn add(&self, change: Change) {
        self.changes.lock().push(change);
    }

    pub(super) fn end(&self) -> i64 {
        i64::try_from(self.changes.lock().len()).unwrap()
    }
}

impl Source for Log {
    fn changes(&self, after: i64) -> Result<Changes, SourceError> {
        if self.fails {
            return Err("the disk is gone".into());
        }
        let changes = self.changes.lock();
        let rest = changes.get(usize::try_from(after)?..).unwrap_or_default();
        let step = if self.step == 0 { rest.len() } else { self.step.min(rest.len()) };
        Ok(Changes { changes: rest[..step].to_vec(), to: after + i64::try_from(step)? })
    }

    fn mark(&self, at: i64) -> Result<Option<String>, SourceError> {
        Ok((at <= self.end()).then(|| format!("{}{at}", self.name)))
    }
}

pub(super) fn document(id: &str, text: &str) -> Document {
    Document { id: id.into(), texts: vec![Text::plain(text)], ..Document::default() }
}

/// A document of a group, with its position as time.
pub(super) fn member(id: &str, group: &str, time: i64, text: &str) -> Document {
    Document { group: Some(group.into()), time: Some(time), ..document(id, text) }
}

pub(super) fn with_facets(mut document: Document, facets: &[(&str, &str)]) -> Document {
    let facets = facets.iter().map(|(name, value)| Facet::new(*name, *value));
    document.facets.extend(facets);
    document
}

/// An index in a temporary folder.
pub(super) struct Bench {
    pub(super) folder: tempfile::TempDir,
    pub(super) index: Index,
}

impl Bench {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let index = open(folder.path()).unwrap();
        Self { folder, index }
    }

    pub(super) fn with_documents(documents: impl IntoIterator<Item = Document>) -> Self {
        let bench = Self::new();
        bench.index.rebuild(documents.into_iter().map(Ok), 1, None).unwrap();
        bench
    }

    pub(super) fn search(&self, query: &str, filters: Filters) -> Hits {
        let search = Search::new(query, 1000).filtered(filters);
        self.index.search_as_is(0, &search).unwrap()
    }

    /// Returns the ids of hits, best first.
    pub(super) fn find(&self, query: &str) -> Vec<String> {
        ids(&self.search(query, Filters::default()))
    }
}

pub(super) fn open(folder: &std::path::Path) -> Result<Index, IndexError> {
    Index::open(&folder.join("index.db"), "test")
}

pub(super) fn ids(hits: &Hits) -> Vec<String> {
    hits.hits.iter().map(|hit| hit.id.clone()).collect()
}
