//! The file: one JSON document, replaced as a whole under a lock.

use std::{
    collections::BTreeMap,
    fs::{self, File as Disk},
    io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    files::{Chunk, File},
    invalid,
};
use crate::small::{Refusal, failed};

/// Indexed files, by [`Source::place`](super::source::Source::place).
pub(super) type Files = BTreeMap<String, File>;

/// Contents of the file.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct State {
    pub(super) collections: Vec<Collection>,
    /// The files of cleared collections, which a mutant remembers.
    pub(super) cleared: BTreeMap<String, Files>,
    /// Number of the last run.
    pub(super) last: u64,
}

/// An indexed collection.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Collection {
    pub(super) name: String,
    pub(super) path: PathBuf,
    /// Its sources: `files`, `branches` or a `repository`.
    pub(super) kind: String,
    /// The branches whose files are taken, instead of those of the folder.
    pub(super) branches: Vec<String>,
    /// Number of commits of each branch whose messages are taken.
    pub(super) depth: usize,
    pub(super) request: Value,
    pub(super) operation_id: String,
    pub(super) state: String,
    /// True if its last run is over.
    pub(super) is_done: bool,
    pub(super) started_at: i64,
    pub(super) finished_at: Option<i64>,
    pub(super) total: usize,
    pub(super) failed: Vec<String>,
    pub(super) files: Files,
}

impl Collection {
    pub(super) fn chunks(&self) -> impl Iterator<Item = (&File, &Chunk)> {
        let files = self.files.values();
        files.flat_map(|file| file.chunks.iter().map(move |chunk| (file, chunk)))
    }

    pub(super) fn status(&self) -> Value {
        let reason = "it is too large or no text";
        let failures = self.failed.iter().take(20);
        let failures: Vec<_> = failures
            .map(|path| json!({ "path": path, "branch": null, "reason": reason }))
            .collect();
        json!({
            "collection": self.name, "path": self.path.to_string_lossy(), "kind": self.kind, "state": self.state,
            "operation_id": self.operation_id, "files_total": self.total, "files_done": self.files.len(),
            "files_failed": self.failed.len(), "failures": failures, "files_left_out": 0, "chunks": self.chunks().count(), "vectors_done": 0, "started_at": self.started_at,
            "finished_at": self.finished_at, "error": null,
        })
    }
}

pub(super) fn no_collection(name: &str) -> Refusal {
    invalid(format!("there is no collection `{name}`"))
}

impl State {
    pub(super) fn named(&self, name: &str) -> Option<&Collection> {
        self.collections.iter().find(|collection| collection.name == name)
    }

    /// Returns the collection of this name, or all.
    pub(super) fn asked<'s>(
        &'s self,
        name: Option<&'s str>,
    ) -> Result<impl Iterator<Item = &'s Collection>, Refusal> {
        match name {
            Some(name) if self.named(name).is_none() => Err(no_collection(name)),
            _ => {
                let all = self.collections.iter();
                Ok(all.filter(move |it| name.is_none_or(|name| it.name == name)))
            }
        }
    }

    pub(super) fn take(&mut self, name: &str) -> Option<Collection> {
        let place = self.collections.iter().position(|it| it.name == name)?;
        Some(self.collections.remove(place))
    }

    /// Replaces a collection, unless a different run of it has begun.
    pub(super) fn replace(&mut self, by: &Collection) -> Result<(), Refusal> {
        for collection in &mut self.collections {
            if collection.operation_id == by.operation_id {
                collection.clone_from(by);
            }
        }
        Ok(())
    }
}

/// The folder with the file.
pub(super) struct Store(PathBuf);

impl Store {
    pub(super) fn new(folder: &Path) -> Self {
        Self(folder.to_owned())
    }

    pub(super) fn read(&self) -> Result<State, Refusal> {
        match fs::read(self.0.join("code.json")) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| failed(error.into())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(State::default()),
            Err(error) => Err(failed(error)),
        }
    }

    /// Changes the contents, under the lock among processes.
    pub(super) fn change<T>(
        &self,
        change: impl FnOnce(&mut State) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let lock = Disk::create(self.0.join("code.lock")).map_err(failed)?;
        lock.lock().map_err(failed)?;
        let mut state = self.read()?;
        let answer = change(&mut state)?;
        let temporary = self.0.join("code.json.new");
        let bytes = serde_json::to_vec(&state).map_err(|error| failed(error.into()))?;
        fs::write(&temporary, bytes).map_err(failed)?;
        fs::rename(&temporary, self.0.join("code.json")).map_err(failed)?;
        Ok(answer)
    }
}
