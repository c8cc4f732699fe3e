//! Queries with what answers them, and reading JSON lines.

use std::{collections::BTreeSet, fs, path::Path};

use serde::de::DeserializeOwned;

use crate::Outcome;

pub(super) struct Query {
    pub(super) id: String,
    pub(super) text: String,
    /// For reports; empty if there are none.
    pub(super) category: String,
    /// Ids that are right.
    pub(super) relevant: BTreeSet<String>,
    /// True if an id has its session before a colon, which is judged too.
    pub(super) has_sessions: bool,
}

/// Reads a file with an object in each line.
pub(super) fn lines<T: DeserializeOwned>(path: &Path) -> Outcome<Vec<T>> {
    let text = fs::read_to_string(path).map_err(|error| format!("`{}`: {error}", path.display()))?;
    let rows = (1..).zip(text.lines()).map(|(number, line)| {
        serde_json::from_str(line).map_err(|error| format!("`{}`:{number}: {error}", path.display()).into())
    });
    rows.collect()
}
