//! Following the log: rows changed after a place in it, for derived files.

use std::collections::BTreeSet;

use serde_json::Value;
use tabellion_runtime::{
    Row,
    rows::identity,
    spec::{EntitySpec, RowsSpec},
};

use crate::entry::LogEntry;

/// Changes after a place in the log.
#[derive(Debug, Clone, PartialEq)]
pub struct Followed {
    /// The rows that changed, each once.
    pub rows: Vec<FollowedRow>,
    /// Place of the last entry that was read; the requested place, if there is no entry after it.
    pub to: i64,
}

/// A row that changed.
#[derive(Debug, Clone, PartialEq)]
pub struct FollowedRow {
    /// Its entity.
    pub entity: &'static EntitySpec,
    /// The values that identify it, in the order of [`EntitySpec::identity`].
    pub key: Vec<Value>,
    /// The row as it is now; `None` if it was removed.
    pub row: Option<Row>,
}

/// Collects the rows that log entries changed, each once.
pub(crate) struct Changed<'a> {
    spec: &'static RowsSpec,
    entities: &'a [&'a str],
    seen: BTreeSet<(&'static str, String)>,
    /// The rows, by entity and identity.
    pub(crate) rows: Vec<(&'static EntitySpec, Vec<Value>)>,
    /// Place of the last entry.
    pub(crate) to: i64,
}

impl<'a> Changed<'a> {
    /// Collects rows of these entities that change after a place.
    pub(crate) fn after(spec: &'static RowsSpec, after: i64, entities: &'a [&'a str]) -> Self {
        Self { spec, entities, seen: BTreeSet::new(), rows: vec![], to: after }
    }

    pub(crate) fn add(&mut self, entry: &LogEntry) {
        self.to = entry.seq;
        for logged in entry.rows.iter().rev() {
            let Some(entity) = self.spec.entity(&logged.entity) else {
                continue;
            };
            let key = identity(entity, &logged.key);
            let is_asked = self.entities.contains(&entity.name);
            if is_asked && self.seen.insert((entity.name, Value::from(key.clone()).to_string())) {
                self.rows.push((entity, key));
            }
        }
    }
}
