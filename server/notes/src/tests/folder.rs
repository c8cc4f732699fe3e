//! A library in a temporary folder, with a catalogue outside of it.

use std::{collections::BTreeMap, fs, path::PathBuf};

use tabellion_library::{Library, Options};
use tabellion_retrieval::{Change, Document, Source as _};
use tempfile::TempDir;

use crate::{Catalogue, Entry, Followed, Selection};

pub(super) struct Folder {
    temp: TempDir,
    pub(super) library: Library,
    pub(super) catalogue: Catalogue,
}

impl Folder {
    pub(super) fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let library = Library::open(&temp.path().join("library"), Options::default()).unwrap();
        let catalogue = Catalogue::open(&temp.path().join("notes.db"), |_, _| None).unwrap();
        Self { temp, library, catalogue }
    }

    pub(super) fn with_files(files: &[(&str, &str)]) -> Self {
        let folder = Self::new();
        for (path, text) in files {
            folder.write(path, text);
        }
        folder.follow();
        folder
    }

    /// Returns a path next to the library.
    pub(super) fn beside(&self, name: &str) -> PathBuf {
        self.temp.path().join(name)
    }

    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.beside("library").join(path)
    }

    pub(super) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(super) fn follow(&self) -> Followed {
        self.catalogue.follow(&self.library).unwrap()
    }

    pub(super) fn list(&self, selection: &Selection) -> Vec<Entry> {
        self.catalogue.read(|notes| notes.list(selection, None, usize::MAX)).unwrap()
    }

    pub(super) fn paths(&self, selection: &Selection) -> Vec<String> {
        self.list(selection).into_iter().map(|entry| entry.path).collect()
    }
}

/// Applies the changes of a catalogue, as an index does.
#[derive(Default)]
pub(super) struct Follower {
    at: i64,
    pub(super) documents: BTreeMap<String, Document>,
}

impl Follower {
    pub(super) fn take(&mut self, catalogue: &Catalogue, needed: i64) {
        while self.at < needed {
            let taken = catalogue.changes(self.at).unwrap();
            assert!(taken.to > self.at);
            for change in taken.changes {
                match change {
                    Change::Put(document) => drop(self.documents.insert(document.id.clone(), document)),
                    Change::Remove(id) => drop(self.documents.remove(&id)),
                }
            }
            self.at = taken.to;
            assert!(catalogue.mark(self.at).unwrap().is_some());
        }
        assert_eq!(catalogue.mark(self.at + 1).unwrap(), None);
    }
}
