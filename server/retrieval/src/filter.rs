//! Filters: the documents that a search considers. They apply before any counting, ranking or limit.

use rusqlite::Connection;

use crate::{
    IndexError,
    columns::{Columns, NO_TIME, Record},
    engine::Candidates,
    postings::{self, Postings},
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
        self.any_of.push(AnyOf { name: name.into(), values: values.into_iter().map(String::from).collect() });
        self
    }
}

/// Returns the documents that pass.
pub(crate) fn passing(
    connection: &Connection,
    columns: &Columns,
    filters: &Filters,
) -> Result<Candidates, IndexError> {
    let mut passing = Candidates::all(columns.records.len());
    for condition in &filters.any_of {
        let list = |value: &String| postings::read(connection, &facet_term(&condition.name, value));
        let lists: Vec<Postings> = condition.values.iter().map(list).collect::<Result<_, _>>()?;
        passing.restrict(lists.iter().flatten().map(|(document, _)| *document));
    }
    if filters.since.is_some() || filters.until.is_some() {
        let span = filters.since.unwrap_or(NO_TIME + 1)..=filters.until.unwrap_or(i64::MAX);
        let is_within = |record: &Record| record.time != NO_TIME && span.contains(&record.time);
        let records = (0..).zip(&columns.records);
        passing.restrict(records.filter(|(_, record)| is_within(record)).map(|(document, _)| document));
    }
    Ok(passing)
}
