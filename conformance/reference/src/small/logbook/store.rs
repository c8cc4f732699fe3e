//! The logbook's file: one JSON document with rows and log, replaced as a whole under a lock.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::contract::FAILED;
use crate::{
    file,
    mutant::{Mutant, is},
    small::{
        Refusal, now,
        rows::{Row, rows_of},
    },
};

/// Name of the file.
pub(crate) const FILE: &str = "logbook.json";

/// Contents of the file.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct State {
    /// Rows by entity.
    rows: Map<String, Value>,
    /// The log, oldest entry first.
    pub(super) log: Vec<Value>,
    /// The largest number of a row.
    last: i64,
}

impl State {
    pub(super) fn rows(&self, entity: &str) -> Vec<Row> {
        rows_of(&self.rows, entity)
    }

    pub(super) fn set_rows(&mut self, entity: &str, rows: Vec<Row>) {
        let rows = rows.into_iter().map(Value::Object).collect();
        self.rows.insert(entity.to_owned(), Value::Array(rows));
    }

    /// Returns a new row of these values, with those of the server.
    pub(super) fn complete(&mut self, mut row: Row) -> Result<Row, Refusal> {
        self.last += 1;
        if !row.contains_key("id") {
            row.insert("id".to_owned(), random()?.into());
        }
        row.entry("miles").or_insert(0.into());
        row.insert("created_at".to_owned(), now().into());
        row.insert("seq".to_owned(), self.last.into());
        Ok(row)
    }

    /// Returns a field of the provenance of the change that made a row.
    pub(super) fn made_by(&self, row: &Row, field: &str) -> Option<&Value> {
        let made = |entry: &&Value| entry["rows"][0]["after"]["id"] == row["id"];
        self.log.iter().find(made)?.get("provenance")?.get(field)
    }
}

/// The folder with the file.
pub(super) struct Store(PathBuf);

impl Store {
    pub(super) fn new(folder: &Path) -> Self {
        Self(folder.to_owned())
    }

    /// Takes the lock among processes, which is held until the file is dropped.
    pub(super) fn lock(&self) -> Result<File, Refusal> {
        let path = self.0.join("lock");
        file::lock(&path).map_err(|error| failed("take the log", &path, &error))
    }

    /// Reads the file.
    pub(super) fn read(&self) -> Result<State, Refusal> {
        let path = self.0.join(FILE);
        let read = file::read_json(&path).map_err(|error| failed("read the log", &path, &error))?;
        Ok(read.unwrap_or_default())
    }

    /// Replaces the file.
    pub(super) fn write(&self, state: &State) -> Result<(), Refusal> {
        let path = self.0.join(FILE);
        file::replace_json(&path, state).map_err(|error| failed("write the log", &path, &error))
    }
}

/// Returns random hexadecimal digits.
pub(super) fn random() -> Result<String, Refusal> {
    file::random(32).map_err(|error| failed("number a row", Path::new(file::RANDOM), &error))
}

/// Returns the refusal for the server's own error; its details are for the operator.
fn failed(doing: &str, path: &Path, error: &io::Error) -> Refusal {
    let message = match () {
        () if is(Mutant::TellsThePath) => format!("can't {doing} {}: {error}", path.display()),
        () if is(Mutant::TellsTheStatement) => {
            format!("can't {doing}: INSERT INTO entries (id, text) VALUES (?, ?)")
        }
        () if is(Mutant::TellsTheType) => format!("can't {doing}: {error:?}"),
        () => format!("can't {doing} now; nothing has changed"),
    };
    (FAILED, message)
}
