//! The memory of a defect.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

/// Facts that a defect remembers: those of this process, and lists in a file beside the server's folder, which other processes share.
pub(super) struct Record {
    here: BTreeMap<String, Value>,
    /// The lists when the process started.
    before: BTreeMap<String, Vec<Value>>,
    file: PathBuf,
}

impl Record {
    /// Opens the record of the server in `folder`.
    ///
    /// # Errors
    /// If its file is damaged.
    pub(super) fn open(folder: &Path) -> io::Result<Self> {
        let file = folder.with_extension("defect.json");
        Ok(Self { here: BTreeMap::new(), before: lists(&file)?, file })
    }

    /// Returns a fact of this process.
    pub(super) fn here(&self, name: &str) -> Option<&Value> {
        self.here.get(name)
    }

    /// Remembers a fact in this process.
    pub(super) fn set_here(&mut self, name: &str, fact: Value) {
        self.here.insert(name.to_owned(), fact);
    }

    /// Returns a list of this process.
    pub(super) fn list_here(&mut self, name: &str) -> &mut Vec<Value> {
        let list = self.here.entry(name.to_owned()).or_insert_with(|| json!([]));
        list.as_array_mut().expect("lists have names of their own")
    }

    /// Returns a shared list as it was when this process started.
    pub(super) fn before(&self, name: &str) -> &[Value] {
        self.before.get(name).map_or(&[], |list| list)
    }

    /// Returns a shared list.
    pub(super) fn all(&self, name: &str) -> Vec<Value> {
        let mut lists = lists(&self.file).unwrap_or_default();
        lists.remove(name).unwrap_or_default()
    }

    /// Returns the last fact of a shared list that fits.
    pub(super) fn find(&self, name: &str, fits: impl Fn(&Value) -> bool) -> Option<Value> {
        self.all(name).into_iter().rev().find(fits)
    }

    /// Adds a fact to a shared list.
    pub(super) fn keep(&self, name: &str, fact: Value) -> io::Result<()> {
        self.change(|lists| lists.entry(name.to_owned()).or_default().push(fact))
    }

    /// Forgets a shared list.
    pub(super) fn forget(&self, name: &str) -> io::Result<()> {
        self.change(|lists| drop(lists.remove(name)))
    }

    fn change(&self, change: impl FnOnce(&mut BTreeMap<String, Vec<Value>>)) -> io::Result<()> {
        let mut lists = lists(&self.file)?;
        change(&mut lists);
        fs::write(&self.file, json!(lists).to_string())
    }
}

/// Reads the shared lists.
fn lists(file: &Path) -> io::Result<BTreeMap<String, Vec<Value>>> {
    match fs::read(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(BTreeMap::new()),
        bytes => Ok(serde_json::from_slice(&bytes?)?),
    }
}
