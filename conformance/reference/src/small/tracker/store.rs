//! The tracker's file: one JSON document with rows, log and idempotency keys, replaced as a whole under a lock.

use std::{
    fs::File,
    path::{Path, PathBuf},
};

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha1::{Digest, Sha1};

use crate::{
    file,
    mutant::{Mutant, is},
    small::{
        Refusal, failed, now,
        rows::{Row, rows_of},
    },
};

/// Name of the file.
pub(crate) const FILE: &str = "tracker.json";

/// Contents of the file.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct State {
    /// Rows by entity.
    pub(super) rows: Map<String, Value>,
    /// The log, oldest entry first.
    pub(super) log: Vec<Value>,
    /// Request and answer of calls with an idempotency key.
    pub(super) keys: Map<String, Value>,
    /// The largest number of a row.
    pub(super) last: i64,
    /// Entity, org and id of rows that were removed.
    pub(super) removed: Vec<Value>,
}

impl State {
    pub(super) fn rows(&self, entity: &str) -> Vec<Row> {
        rows_of(&self.rows, entity)
    }

    pub(super) fn set_rows(&mut self, entity: &str, rows: Vec<Row>) {
        let names: Vec<_> = rows.iter().map(|row| name(entity, row)).collect();
        let before = self.rows(entity).into_iter().map(|row| name(entity, &row));
        let removed: Vec<_> = before.filter(|name| !names.contains(name)).collect();
        self.removed.extend(removed);
        let rows = rows.into_iter().map(Value::Object).collect();
        self.rows.insert(entity.to_owned(), Value::Array(rows));
    }

    /// Returns an entry for the differences from `earlier`.
    pub(super) fn entry(&self, earlier: &Self, id: &str) -> Value {
        let mut changes = Vec::new();
        let name = |row: &Row| (row.get("org_id").cloned(), row.get("id").cloned());
        for entity in super::fields::generated::ROWS.entities {
            let (old, new) = (earlier.rows(entity.name), self.rows(entity.name));
            let is_same = |one: &Row, other: &Row| name(one) == name(other);
            let change = |before: Option<&Row>, after: Option<&Row>| {
                let row = before.or(after);
                let mut key = Row::new();
                for field in ["org_id", "id"] {
                    if let Some(value) = row.and_then(|row| row.get(field)) {
                        key.insert(field.to_owned(), value.clone());
                    }
                }
                json!({ "entity": entity.name, "key": key, "before": before, "after": after })
            };
            for row in &old {
                match new.iter().find(|other| is_same(row, other)) {
                    None => changes.push(change(Some(row), None)),
                    Some(other) if other != row => changes.push(change(Some(row), Some(other))),
                    Some(_) => {}
                }
            }
            let added = new.iter().filter(|row| !old.iter().any(|other| is_same(row, other)));
            changes.extend(added.map(|row| change(None, Some(row))));
        }
        json!({ "id": id, "rows": changes })
    }
}

/// Returns the key of a row: its entity, org and id.
pub(super) fn name(entity: &str, row: &Row) -> Value {
    json!([entity, row.get("org_id"), row.get("id")])
}

/// The folder with the file.
pub(super) struct Store(PathBuf);

impl Store {
    pub(super) fn new(folder: &Path) -> Self {
        Self(folder.to_owned())
    }

    /// Takes the lock among processes, which is held until the file is dropped.
    pub(super) fn lock(&self) -> Result<Option<File>, Refusal> {
        if is(Mutant::RowsWithoutLock) {
            return Ok(None);
        }
        file::lock(&self.0.join("lock")).map(Some).map_err(failed)
    }

    /// Reads the file; a new store has the two orgs, in one entry of the log.
    pub(super) fn read(&self) -> Result<State, Refusal> {
        if let Some(state) = file::read_json(&self.0.join(FILE)).map_err(failed)? {
            return Ok(state);
        }
        let mut state = State::default();
        let org = |id: &str, name: &str| {
            let row = json!({ "id": id, "name": name, "created_at": now() });
            row.as_object().cloned().unwrap_or_default()
        };
        state.set_rows("org", vec![org("home", "Home"), org("work", "Work")]);
        state.log.push(state.entry(&State::default(), "seed"));
        self.write(&state)?;
        Ok(state)
    }

    /// Replaces the file.
    pub(super) fn write(&self, state: &State) -> Result<(), Refusal> {
        file::replace_json(&self.0.join(FILE), state).map_err(failed)
    }
}

/// Returns random hexadecimal digits.
pub(super) fn random(digits: usize) -> Result<String, Refusal> {
    file::random(digits).map_err(failed)
}

/// Returns the digest of a value's JSON.
pub(super) fn digest(value: &Value) -> String {
    HEXLOWER.encode(&Sha1::digest(value.to_string()))
}
