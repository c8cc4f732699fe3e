//! The logbook's file: one JSON document with rows and log, replaced as a whole under a lock.

use std::{
    fs::{self, File},
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::contract::FAILED;
use crate::{
    mutant::{Mutant, is},
    small::{Refusal, now},
};

type Row = Map<String, Value>;

/// Name of the file.
const FILE: &str = "logbook.json";

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
        let rows = self.rows.get(entity).and_then(Value::as_array);
        let rows = rows.into_iter().flatten();
        rows.filter_map(|row| row.as_object().cloned()).collect()
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
        let locked = File::create(&path).and_then(|file| file.lock().map(|()| file));
        locked.map_err(|error| failed("take the log", &path, &error))
    }

    /// Reads the file.
    pub(super) fn read(&self) -> Result<State, Refusal> {
        let path = self.0.join(FILE);
        let read = match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(io::Error::from),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(State::default()),
            Err(error) => Err(error),
        };
        read.map_err(|error| failed("read the log", &path, &error))
    }

    /// Replaces the file.
    pub(super) fn write(&self, state: &State) -> Result<(), Refusal> {
        let (path, new) = (self.0.join(FILE), self.0.join("logbook.new"));
        let replaced = serde_json::to_vec(state).map_err(io::Error::from).and_then(|bytes| {
            let mut file = File::create(&new)?;
            file.write_all(&bytes)?;
            file.sync_all()?;
            fs::rename(&new, &path)
        });
        replaced.map_err(|error| failed("write the log", &path, &error))
    }
}

/// Returns random hexadecimal digits.
pub(super) fn random() -> Result<String, Refusal> {
    let path = Path::new("/dev/urandom");
    let mut bytes = [0; 16];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut bytes));
    read.map_err(|error| failed("number a row", path, &error))?;
    Ok(HEXLOWER.encode(&bytes))
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
