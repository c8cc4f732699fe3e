//! The catalogue of a library's notes and their index, kept up to the files.

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, OnceLock, Weak},
    time::Duration,
};

use parking_lot::Mutex;
use tabellion_library::{
    Library,
    path::{LibraryDir, LibraryPath},
    walk::FolderError,
};
use tabellion_meaning::{Corpus, CorpusError, Meaning, Models, Wanted};
use tabellion_notes::{
    Catalogue, CatalogueError, ContentHash, Entry, ExportFiles, FoundInstance, InstanceFilter, Note,
    NoteHits, NoteIndex, NoteQuery, ParseInstance, SearchError, Snapshot, is_named_for,
};
use tabellion_platform::FileStat;
use tabellion_retrieval::{Nearness, TextKey};
use tabellion_runtime::{Failure, FailureKind, Snapshot as _};
use uuid::Uuid;

use super::{downloads, rounds::Rounds, values::FOLDER};
use tabellion_pack::failures;

/// Lifetime of an export.
pub(super) const LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);

/// Folder of the files derived from a library's notes, and their names.
const DERIVED: &str = "notes";
const CATALOGUE: &str = "catalogue.db";
const INDEX: &str = "index.db";
const VECTORS: &str = "vectors.db";

/// Catalogue, index and vectors of a library's notes. Opens its files when they are first needed.
pub(super) struct Shelf {
    library: Arc<Library>,
    folder: PathBuf,
    parse: ParseInstance,
    exports: ExportFiles,
    opened: OnceLock<(Catalogue, NoteIndex)>,
    meaning: Meaning,
    looks: Rounds<i64>,
    /// The last answer of [`Shelf::removed_by`], since one commit often moves many notes.
    removed: Mutex<Option<(String, Removed)>>,
}

/// Former paths of notes by the ids in their files.
type Removed = Arc<HashMap<Uuid, String>>;

impl Shelf {
    /// Creates the shelf of a library. Vectors are made by one of `models`, and `parse` reads the documents of instances.
    pub(super) fn new(library: Arc<Library>, models: Box<dyn Models>, parse: ParseInstance) -> Arc<Self> {
        let folder = Self::derived(&library);
        let shelf = Arc::new(Self {
            meaning: Meaning::new(folder.join(VECTORS), models),
            exports: ExportFiles::new(folder.join(downloads::FOLDER), LIFETIME),
            library,
            folder,
            parse,
            opened: OnceLock::new(),
            looks: Rounds::new(),
            removed: Mutex::default(),
        });
        let corpus: Weak<Self> = Arc::downgrade(&shelf);
        shelf.meaning.add(corpus);
        shelf
    }

    /// Returns the folder of the files derived from a library's notes.
    pub(super) fn derived(library: &Library) -> PathBuf {
        library.derived(DERIVED)
    }

    /// Returns true if this contract was ever served from the library.
    pub(super) fn is_used(library: &Library) -> bool {
        Self::derived(library).join(CATALOGUE).exists()
    }

    pub(super) fn library(&self) -> &Library {
        &self.library
    }

    pub(super) fn exports(&self) -> &ExportFiles {
        &self.exports
    }

    fn opened(&self) -> Result<&(Catalogue, NoteIndex), Failure> {
        if let Some(opened) = self.opened.get() {
            return Ok(opened);
        }
        let catalogue = Catalogue::open(&self.folder.join(CATALOGUE), self.parse).map_err(of_catalogue)?;
        let index = NoteIndex::open(&self.folder.join(INDEX)).map_err(|error| io(error.to_string()))?;
        Ok(self.opened.get_or_init(|| (catalogue, index)))
    }

    /// Updates the catalogue to the files, as they are at this call or later; returns the number of its last change. Concurrent calls share
    /// one scan of the files.
    pub(super) fn follow(&self) -> Result<i64, Failure> {
        self.looks.run(|| self.look())
    }

    fn look(&self) -> Result<i64, Failure> {
        let (catalogue, _) = self.opened()?;
        let followed = catalogue.follow(&*self.library).map_err(of_catalogue)?;
        for (path, reason) in &followed.unreadable {
            tracing::warn!(%path, %reason, "a note can't be read");
        }
        if followed.read > 0 {
            self.meaning.wake();
        }
        Ok(followed.sequence)
    }

    /// Updates the catalogue to the files, unless each of these notes is where the catalogue has it, in a file that is named for the id and
    /// still contains it. That saves a scan of all files. If a person has copied such a file meanwhile, and the copy is to have the id, the
    /// next call that scans all of them sees it.
    pub(super) fn follow_for(&self, ids: &[Uuid]) -> Result<(), Failure> {
        for id in ids {
            if !self.is_in_place(*id)? {
                self.follow()?;
                break;
            }
        }
        Ok(())
    }

    fn is_in_place(&self, id: Uuid) -> Result<bool, Failure> {
        let Some(entry) = self.cached_note(id)?.filter(|entry| is_named_for(&entry.path, id)) else {
            return Ok(false);
        };
        let path = LibraryPath::parse(&entry.path).map_err(failures::path)?;
        let file = self.library.read(&path)?;
        Ok(file.is_some_and(|file| Note::parse(&entry.path, &file.bytes).metadata.id == Some(id)))
    }

    /// Reads one state of the catalogue, after updating it to the files.
    pub(super) fn read<T>(
        &self,
        read: impl FnOnce(&Snapshot<'_>) -> Result<T, CatalogueError>,
    ) -> Result<T, Failure> {
        self.follow()?;
        self.snapshot(read)
    }

    /// Returns the note with this id, if it exists.
    pub(super) fn note(&self, id: Uuid) -> Result<Option<Entry>, Failure> {
        self.follow()?;
        self.cached_note(id)
    }

    /// Returns the note with this id as it was when the catalogue last followed the files.
    pub(super) fn cached_note(&self, id: Uuid) -> Result<Option<Entry>, Failure> {
        self.snapshot(|notes| notes.get(id))
    }

    pub(super) fn search(&self, query: &NoteQuery, report: &dyn Fn(u64, u64)) -> Result<NoteHits, Failure> {
        let needed = self.follow()?;
        let (catalogue, index) = self.opened()?;
        let report = |at: i64| report(at.unsigned_abs(), needed.unsigned_abs());
        let search = |near: Option<&dyn Nearness>| index.search(catalogue, needed, query, near, &report);
        let found = self.meaning.near(&query.text, search);
        found.map_err(|error| match error {
            SearchError::Catalogue(error) => of_catalogue(error),
            other => io(other.to_string()),
        })
    }

    /// Returns the paths of the files that a commit removed, by the ids of notes in them; without a commit, of those that HEAD has and a
    /// person has removed since.
    pub(super) fn removed_by(&self, commit: Option<&str>) -> Result<Removed, Failure> {
        let key = match commit {
            Some(commit) => commit.to_owned(),
            None => format!("{} {}", self.head()?, self.snapshot(|notes| notes.sequence())?),
        };
        let mut last = self.removed.lock();
        if let Some((known, removed)) = &*last
            && *known == key
        {
            return Ok(Arc::clone(removed));
        }
        let mut removed = HashMap::new();
        let paths =
            commit.map_or_else(|| self.library.missing(), |commit| self.library.removed_by(commit))?;
        for (path, content) in paths {
            let note = Note::parse(&path, &self.library.past_content(&path, &content)?);
            removed.extend(note.metadata.id.map(|id| (id, path)));
        }
        let (_, removed) = last.insert((key, Arc::new(removed)));
        Ok(Arc::clone(removed))
    }

    /// Returns a version tag that changes with a note's file, and with each commit.
    pub(super) fn version_tag(&self, id: Uuid) -> Result<String, Failure> {
        let entry = self.note(id)?;
        let head = self.library.head()?.unwrap_or_default();
        let file = match entry.and_then(|entry| LibraryPath::parse(&entry.path).ok()) {
            Some(path) => self.library.version_tag(&path)?,
            None => String::new(),
        };
        Ok(format!("{head} {file}"))
    }

    /// Returns a version tag that changes with the documents of proposals.
    pub(super) fn reviews_version(&self) -> Result<String, Failure> {
        let mut stats = self.review_stats()?;
        stats.sort_by(|(a, _), (b, _)| a.as_str().cmp(b.as_str()));
        let text: Vec<String> =
            stats.iter().map(|(path, stat)| format!("{} {stat:?}", path.as_str())).collect();
        Ok(super::moments::digest(&text.join("\n")).to_string())
    }

    fn review_stats(&self) -> Result<Vec<(LibraryPath, FileStat)>, Failure> {
        let folder = LibraryDir::parse(FOLDER).map_err(failures::path)?;
        match self.library.stats(&folder) {
            Err(FolderError::NotFound { .. }) => Ok(vec![]),
            stats => Ok(stats.map_err(failures::folder)?),
        }
    }

    /// Updates the catalogue to the documents of instances alone.
    fn follow_instances(&self) -> Result<(), Failure> {
        let (catalogue, _) = self.opened()?;
        let followed = catalogue.follow_instances(&*self.library);
        followed.map(drop).map_err(of_catalogue)
    }

    /// Updates the catalogue to the files, and its values to HEAD, which it returns.
    pub(super) fn follow_history(&self) -> Result<String, Failure> {
        let head = self.head()?;
        self.follow()?;
        let (catalogue, _) = self.opened()?;
        let changed_since = |before: &str| self.library.changed_since(before, &head).ok().flatten();
        catalogue.go_to(&head, changed_since).map_err(of_catalogue)?;
        Ok(head)
    }

    /// Returns HEAD's commit; an empty text before the first one.
    pub(super) fn head(&self) -> Result<String, Failure> {
        Ok(self.library.head()?.unwrap_or_default())
    }

    /// Reads one state of the catalogue without updating it.
    pub(super) fn snapshot<T>(
        &self,
        read: impl FnOnce(&Snapshot<'_>) -> Result<T, CatalogueError>,
    ) -> Result<T, Failure> {
        let (catalogue, _) = self.opened()?;
        catalogue.read(read).map_err(of_catalogue)
    }

    /// Stores values of documents at the commit `head`.
    pub(super) fn keep(&self, head: &str, values: &[(String, ContentHash, String)]) -> Result<(), Failure> {
        let (catalogue, _) = self.opened()?;
        catalogue.keep(head, values).map_err(of_catalogue)
    }

    /// Returns the instances that `filter` admits, oldest first, once the catalogue has followed their documents.
    ///
    /// Later changes of a document are not seen: a call that decides on one reads it again, in its own state.
    pub(super) fn instances(
        &self,
        filter: &InstanceFilter,
        limit: usize,
    ) -> Result<Vec<FoundInstance>, Failure> {
        self.follow_instances()?;
        self.snapshot(|notes| notes.instances(filter, 0, limit))
    }
}

impl Corpus for Shelf {
    fn wanted(&self, has: &dyn Fn(&TextKey) -> bool, max: usize) -> Result<Vec<Wanted>, CorpusError> {
        let Some((catalogue, index)) = self.opened.get() else {
            return Ok(vec![]);
        };
        // Not through `follow`, which would wake the calling thread again.
        let needed = catalogue.follow(&*self.library)?.sequence;
        index.update(catalogue, needed)?;
        let texts = index.texts_of(catalogue, &|text| !has(text), max)?;
        Ok(texts.iter().map(|text| Wanted::in_parts("", text)).collect())
    }

    fn keys(&self) -> Result<Vec<TextKey>, CorpusError> {
        match self.opened.get() {
            Some((_, index)) => Ok(index.texts()?),
            None => Ok(vec![]),
        }
    }
}

pub(super) fn of_catalogue(error: CatalogueError) -> Failure {
    let kind = match error {
        CatalogueError::Busy => FailureKind::Busy,
        _ => FailureKind::Io,
    };
    Failure::new(kind, error.to_string())
}

pub(super) fn io(message: impl Into<String>) -> Failure {
    Failure::new(FailureKind::Io, message.into())
}
