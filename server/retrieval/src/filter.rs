//! Filters: the documents that a search considers. They apply before any counting, ranking or limit.

use rusqlite::Connection;

use crate::{
    IndexError,
    columns::{Columns, NO_TIME},
    postings,
    terms::facet_term,
};

/// Conditions that all hold for every hit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filters {
    /// For each, the document has one of the values.
    pub any_of: Vec<AnyOf>,
    /// The earliest time, inclusive. A document without a time is left out.
    pub since: Option<i64>,
    /// The latest time, inclusive. A document without a time is left out.
    pub until: Option<i64>,
}

/// Values of which a document must have at least one. Without values, no document passes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnyOf {
    /// Name of the facet.
    pub name: String,
    /// Permitted values.
    pub values: Vec<String>,
}

impl Filters {
    /// Adds the condition that the facet `name` has this value.
    #[must_use]
    pub fn with(self, name: &str, value: &str) -> Self {
        self.with_any(name, [value])
    }

    /// Adds the condition that the facet `name` has one of these values.
    #[must_use]
    pub fn with_any<'v>(mut self, name: &str, values: impl IntoIterator<Item = &'v str>) -> Self {
        self.any_of.push(AnyOf {
            name: name.into(),
            values: values.into_iter().map(String::from).collect(),
        });
        self
    }
}

/// A set of documents.
#[derive(Debug, Clone)]
pub(crate) struct DocumentSet(Vec<u64>);

impl DocumentSet {
    fn new(columns: &Columns) -> Self {
        Self(vec![0; columns.records.len().div_ceil(64)])
    }

    fn insert(&mut self, document: usize) {
        if let Some(word) = self.0.get_mut(document / 64) {
            *word |= 1 << (document % 64);
        }
    }

    fn intersect(&mut self, other: &Self) {
        self.0
            .iter_mut()
            .zip(&other.0)
            .for_each(|(word, other)| *word &= other);
    }

    pub(crate) fn contains(&self, document: u32) -> bool {
        let word = self.0.get(document as usize / 64).copied().unwrap_or(0);
        word >> (document % 64) & 1 == 1
    }
}

/// Returns the documents that pass; `None` if there are no conditions.
pub(crate) fn passing(
    connection: &Connection,
    columns: &Columns,
    filters: &Filters,
) -> Result<Option<DocumentSet>, IndexError> {
    let mut passing: Option<DocumentSet> = None;
    let mut restrict = |set: DocumentSet| match &mut passing {
        Some(passing) => passing.intersect(&set),
        None => passing = Some(set),
    };
    for condition in &filters.any_of {
        let mut set = DocumentSet::new(columns);
        for value in &condition.values {
            for (document, _) in postings::read(connection, &facet_term(&condition.name, value))? {
                set.insert(document as usize);
            }
        }
        restrict(set);
    }
    if filters.since.is_some() || filters.until.is_some() {
        let span = filters.since.unwrap_or(NO_TIME + 1)..=filters.until.unwrap_or(i64::MAX);
        let mut set = DocumentSet::new(columns);
        for (document, record) in columns.records.iter().enumerate() {
            if record.time != NO_TIME && span.contains(&record.time) {
                set.insert(document);
            }
        }
        restrict(set);
    }
    Ok(passing)
}
