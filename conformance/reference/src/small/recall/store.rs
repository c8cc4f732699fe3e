//! The file: one JSON document, replaced as a whole under a lock.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::note::Note;
use crate::small::{Refusal, failed};

/// Contents of the file, oldest first.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct State {
    pub(super) notes: Vec<Note>,
    /// The largest number of a note.
    pub(super) last: i64,
}

impl State {
    /// Returns the next number.
    pub(super) fn next(&mut self) -> i64 {
        self.last += 1;
        self.last
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
        let file = File::create(self.0.join("lock")).map_err(failed)?;
        file.lock().map_err(failed)?;
        Ok(file)
    }

    pub(super) fn read(&self) -> Result<State, Refusal> {
        match fs::read(self.path()) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| failed(error.into())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(State::default()),
            Err(error) => Err(failed(error)),
        }
    }

    pub(super) fn write(&self, state: &State) -> Result<(), Refusal> {
        let temporary = self.0.join("memory.json.new");
        let write = || {
            let mut file = File::create(&temporary)?;
            file.write_all(&serde_json::to_vec(state)?)?;
            file.sync_all()?;
            fs::rename(&temporary, self.path())
        };
        write().map_err(failed)
    }

    /// Writes the rows as lines of JSON.
    pub(super) fn export(&self, to: &mut dyn Write) -> io::Result<()> {
        let state = self.read().map_err(|(_, why)| io::Error::other(why))?;
        for note in &state.notes {
            for (entity, row) in note.rows() {
                writeln!(to, "{}", json!({ "row": { "entity": entity, "row": row } }))?;
            }
        }
        Ok(())
    }

    fn path(&self) -> PathBuf {
        self.0.join("memory.json")
    }
}
