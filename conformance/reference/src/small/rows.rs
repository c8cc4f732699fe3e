//! Rows and the log of their changes, in one JSON document.

use std::{
    io::{self, Write},
    path::Path,
};

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::file;

pub(super) type Row = Map<String, Value>;

/// Returns the rows of an entity.
pub(super) fn rows_of(rows: &Map<String, Value>, entity: &str) -> Vec<Row> {
    let rows = rows.get(entity).and_then(Value::as_array).into_iter().flatten();
    rows.filter_map(|row| row.as_object().cloned()).collect()
}

/// The rows by their entities, and the log, of any of the servers' documents.
#[derive(Deserialize)]
struct Exported {
    rows: Map<String, Value>,
    log: Vec<Value>,
}

/// Prints the log and the rows of a document as lines of JSON; nothing if it does not exist.
pub(super) fn export<'a>(
    document: &Path,
    entities: impl Iterator<Item = &'a str>,
    to: &mut dyn Write,
) -> io::Result<()> {
    let Some(Exported { rows, log }) = file::read_json(document)? else {
        return Ok(());
    };
    for entry in log {
        writeln!(to, "{}", json!({ "change": entry }))?;
    }
    for entity in entities {
        for row in rows_of(&rows, entity) {
            writeln!(to, "{}", json!({ "row": { "entity": entity, "row": row } }))?;
        }
    }
    Ok(())
}
