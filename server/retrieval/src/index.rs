//! The index of a source: updates, searches, rebuilds, and status.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI64, Ordering},
    },
};

use parking_lot::Mutex;
use rusqlite::{Connection, Transaction, TransactionBehavior};
use tabellion_sqlite::{Format, Pool, WORDS, check};

use crate::{
    Change, Document, Hit, Hits, IndexError, Nearness, Search, Source, TextKey,
    columns::{Columns, Record},
    file::{Recipe, State},
    search,
    write::Batch,
};

/// Number of connections that are kept for later searches.
const MAX_IDLE: usize = 4;
/// Attempts of one call at an index that is behind or damaged. Other processes may damage or replace it meanwhile.
const MAX_ATTEMPTS: usize = 4;

/// A search index in a file. Several threads and processes may use the same file.
#[derive(Debug)]
pub struct Index {
    path: PathBuf,
    /// The caller's recipe for making documents of its rows.
    recipe: String,
    writer: Mutex<Connection>,
    readers: Pool,
    columns: Mutex<Arc<Columns>>,
    /// True once the source is known to be the one that the index was made from.
    is_checked: AtomicBool,
    /// The last generation, as far as read, that removed all documents.
    cleared: AtomicI64,
}

/// Contents of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// The last change of the source that the index has, with all before it; 0 if it is empty.
    pub at: i64,
    /// The source's mark of that change.
    pub mark: Option<String>,
    /// Number of documents.
    pub documents: usize,
}

impl Status {
    /// Returns true if the index has all changes up to `needed`.
    pub fn is_current(&self, needed: i64) -> bool {
        self.at >= needed
    }

    fn read(connection: &Connection, state: &State) -> Result<Self, IndexError> {
        let sql = "SELECT count(*) FROM document WHERE id IS NOT NULL";
        let documents: i64 = connection.query_row(sql, [], |row| row.get(0))?;
        Ok(Self {
            at: state.at,
            mark: state.mark.clone(),
            documents: usize::try_from(documents).unwrap_or(0),
        })
    }
}

/// Returns the status of the index in the file `path`, after a check of the file; `None` if there is no file. Makes and repairs
/// no files.
///
/// # Errors
/// [`IndexError::Damaged`] if a search would make the index anew; others if it can't be read.
pub fn inspect(path: &Path, recipe: &str) -> Result<Option<Status>, IndexError> {
    if !path.exists() {
        return Ok(None);
    }
    let Some(connection) = WORDS.existing(path, &Recipe(recipe))? else {
        let is_of_version = WORDS.format(&WORDS.connect(path)?)? == Format::Current;
        return Err(IndexError::damaged(if is_of_version {
            "its documents were made in a different way"
        } else {
            "it is not of this version"
        }));
    };
    if let Some(problem) = check(&connection)? {
        return Err(IndexError::damaged(problem));
    }
    connection.execute_batch("BEGIN")?;
    let state = State::read(&connection)?;
    Status::read(&connection, &state).map(Some)
}

impl Index {
    /// Opens the index in the file `path`, whose folder exists. A file that is missing, damaged, or made by a different version or
    /// `recipe` becomes an empty index, which the next search fills.
    ///
    /// `recipe` names the caller's way of making documents of its rows, and changes with it.
    ///
    /// # Errors
    /// If the file can't be created or written.
    pub fn open(path: &Path, recipe: &str) -> Result<Self, IndexError> {
        let connection = WORDS.open(path, &Recipe(recipe))?;
        Ok(Self {
            path: path.into(),
            recipe: recipe.into(),
            writer: Mutex::new(connection),
            readers: Pool::new(MAX_IDLE),
            columns: Mutex::default(),
            is_checked: AtomicBool::new(false),
            cleared: AtomicI64::new(0),
        })
    }

    /// Writes a copy of the index, as it is at one moment, to a new file.
    ///
    /// # Errors
    /// If the file is there already, or can't be written.
    pub fn copy_to(&self, path: &Path) -> Result<(), IndexError> {
        let connection = self.writer.lock();
        connection.execute("VACUUM INTO ?", [path.to_string_lossy()])?;
        Ok(())
    }

    /// Searches by words, in an index with all changes up to `needed`; brings it up to date first.
    ///
    /// # Errors
    /// If the index can't be brought up to date, read or written.
    pub fn search(&self, source: &dyn Source, needed: i64, search: &Search) -> Result<Hits, IndexError> {
        self.search_near(source, needed, search, None)
    }

    /// Searches by words, and by the meaning of texts as far as `nearness` knows it.
    ///
    /// # Errors
    /// As for [`Index::search`].
    pub fn search_near(
        &self,
        source: &dyn Source,
        needed: i64,
        search: &Search,
        nearness: Option<&dyn Nearness>,
    ) -> Result<Hits, IndexError> {
        if !self.is_checked.load(Ordering::Acquire) {
            self.update(source, needed)?;
        }
        self.try_repeatedly(|| match self.search_once(needed, search, nearness) {
            Err(IndexError::Behind { .. }) => {
                self.update(source, needed)?;
                self.search_once(needed, search, nearness)
            }
            outcome => outcome,
        })
    }

    /// Returns the best hit.
    ///
    /// # Errors
    /// As for [`Index::search`].
    pub fn best(&self, source: &dyn Source, needed: i64, search: &Search) -> Result<Option<Hit>, IndexError> {
        let search = Search { limit: 1, ..search.clone() };
        Ok(self.search(source, needed, &search)?.hits.into_iter().next())
    }

    /// Returns the number of hits.
    ///
    /// # Errors
    /// As for [`Index::search`].
    pub fn count(&self, source: &dyn Source, needed: i64, search: &Search) -> Result<usize, IndexError> {
        let search = Search { limit: 0, ..search.clone() };
        Ok(self.search(source, needed, &search)?.total)
    }

    /// Searches the index without an update, if it has all changes up to `needed`.
    ///
    /// # Errors
    /// [`IndexError::Behind`] if the index lacks changes; others if it can't be read.
    pub fn search_as_is(&self, needed: i64, search: &Search) -> Result<Hits, IndexError> {
        self.search_once(needed, search, None)
    }

    fn search_once(
        &self,
        needed: i64,
        search: &Search,
        nearness: Option<&dyn Nearness>,
    ) -> Result<Hits, IndexError> {
        self.read(|connection, state| {
            if state.at < needed {
                return Err(IndexError::Behind { at: state.at, needed });
            }
            let columns = self.columns(connection, state)?;
            search::search(connection, &columns, search, nearness)
        })
    }

    /// Takes all changes up to at least `needed` from the source, in transactions as large as the source makes them. An index of a
    /// different source, or of one that was replaced, is emptied first.
    ///
    /// # Errors
    /// If the source can't be read or ends before `needed`, or the index can't be written.
    pub fn update(&self, source: &dyn Source, needed: i64) -> Result<(), IndexError> {
        self.try_repeatedly(|| {
            while !self.take_some(source, needed)? {}
            self.is_checked.store(true, Ordering::Release);
            Ok(())
        })
    }

    /// Takes the next changes; returns true if there are none left.
    fn take_some(&self, source: &dyn Source, needed: i64) -> Result<bool, IndexError> {
        self.write(|batch, state| {
            if state.at > 0 && state.mark != source.mark(state.at).map_err(IndexError::Source)? {
                batch.clear(state)?;
            }
            if state.at >= needed {
                return Ok(true);
            }
            let taken = source.changes(state.at).map_err(IndexError::Source)?;
            if taken.to <= state.at {
                return Err(IndexError::SourceEnds { end: state.at, needed });
            }
            for change in &taken.changes {
                batch.make(change)?;
            }
            state.at = taken.to;
            state.mark = source.mark(taken.to).map_err(IndexError::Source)?;
            Ok(state.at >= needed)
        })
    }

    /// Applies changes that bring the index from its change `after` to `to`.
    ///
    /// # Errors
    /// [`IndexError::Behind`] if the index has no change `after`; others if it can't be written.
    pub fn apply(
        &self,
        changes: &[Change],
        after: i64,
        to: i64,
        mark: Option<&str>,
    ) -> Result<(), IndexError> {
        self.write(|batch, state| {
            if state.at < after {
                let (at, needed) = (state.at, after);
                return Err(IndexError::Behind { at, needed });
            }
            for change in changes {
                batch.make(change)?;
            }
            if to > state.at {
                (state.at, state.mark) = (to, mark.map(String::from));
            }
            Ok(())
        })
    }

    /// Replaces all documents, in one transaction: others search the old ones until the new ones are complete.
    ///
    /// # Errors
    /// If a document can't be read, or the index can't be written. The index is then as before.
    pub fn rebuild(
        &self,
        documents: impl IntoIterator<Item = Result<Document, crate::SourceError>>,
        at: i64,
        mark: Option<&str>,
    ) -> Result<(), IndexError> {
        let mut documents = documents.into_iter();
        self.repaired(|| {
            self.write(|batch, state| {
                batch.clear(state)?;
                for document in &mut documents {
                    batch.put(&document.map_err(IndexError::Source)?)?;
                }
                (state.at, state.mark) = (at, mark.map(String::from));
                Ok(())
            })
        })
    }

    /// Returns the keys of the texts whose meaning can be compared.
    ///
    /// # Errors
    /// If the index can't be read.
    pub fn texts(&self) -> Result<Vec<TextKey>, IndexError> {
        self.read(|connection, state| {
            let columns = self.columns(connection, state)?;
            Ok(columns.records.iter().filter_map(Record::text).copied().collect())
        })
    }

    /// Returns the ids of at most `max` documents whose text `wants` accepts.
    ///
    /// # Errors
    /// If the index can't be read.
    pub fn documents_of(
        &self,
        wants: &dyn Fn(&TextKey) -> bool,
        max: usize,
    ) -> Result<Vec<String>, IndexError> {
        self.read(|connection, state| {
            let columns = self.columns(connection, state)?;
            let mut select = connection.prepare_cached("SELECT id FROM document WHERE number = ?")?;
            let numbers = (0_u32..).zip(&columns.records);
            let wanted = numbers.filter(|(_, record)| record.text().is_some_and(wants));
            let ids = wanted.take(max).map(|(number, _)| Ok(select.query_row([number], |row| row.get(0))?));
            ids.collect()
        })
    }

    /// Returns the status of the index. It counts only documents that a search would find.
    ///
    /// # Errors
    /// If the index can't be read.
    pub fn status(&self) -> Result<Status, IndexError> {
        self.read(Status::read)
    }

    /// Returns the records of the snapshot that `connection` reads.
    fn columns(&self, connection: &Connection, state: &State) -> Result<Arc<Columns>, IndexError> {
        let mut kept = self.columns.lock();
        if kept.generation == state.generation {
            return Ok(Arc::clone(&kept));
        }
        if kept.generation > state.generation {
            // Another thread has read a newer snapshot meanwhile.
            let mut columns = Columns::default();
            columns.refresh(connection, state.generation)?;
            return Ok(Arc::new(columns));
        }
        let mut columns = std::mem::take(&mut *kept);
        if columns.generation < state.cleared {
            columns = Arc::default();
        }
        Arc::make_mut(&mut columns).refresh(connection, state.generation)?;
        *kept = Arc::clone(&columns);
        Ok(columns)
    }

    fn state(&self, connection: &Connection) -> Result<State, IndexError> {
        let state = State::read(connection)?;
        self.cleared.store(state.cleared, Ordering::Release);
        Ok(state)
    }

    /// Reads one snapshot.
    fn read<T>(
        &self,
        read: impl FnOnce(&Connection, &State) -> Result<T, IndexError>,
    ) -> Result<T, IndexError> {
        self.readers
            .read(|| Ok(WORDS.connect(&self.path)?), |connection| read(connection, &self.state(connection)?))
    }

    /// Changes the index in one transaction.
    fn write<T>(
        &self,
        write: impl FnOnce(&mut Batch<'_>, &mut State) -> Result<T, IndexError>,
    ) -> Result<T, IndexError> {
        let connection = self.writer.lock();
        let transaction = Transaction::new_unchecked(&connection, TransactionBehavior::Immediate)?;
        let before = self.state(&transaction)?;
        let mut state = State { generation: before.generation + 1, ..before.clone() };
        let mut batch = Batch::new(&transaction, state.generation);
        let outcome = write(&mut batch, &mut state)?;
        batch.flush()?;
        // Without a change, other readers keep their data.
        let is_same = (state.cleared, state.at, &state.mark) == (before.cleared, before.at, &before.mark);
        if batch.is_changed() || !is_same {
            state.write(&transaction)?;
        }
        transaction.commit()?;
        Ok(outcome)
    }

    /// Repeats `work` while the index is damaged or behind, which repairing and other processes may cause.
    fn try_repeatedly<T>(&self, work: impl Fn() -> Result<T, IndexError>) -> Result<T, IndexError> {
        let mut outcome = self.repaired(&work);
        for _ in 1..MAX_ATTEMPTS {
            match outcome {
                Err(IndexError::Behind { .. } | IndexError::Damaged(_)) => outcome = self.repaired(&work),
                _ => break,
            }
        }
        outcome
    }

    /// Does `work`; if it finds the index damaged, replaces the index by an empty one for the next attempt.
    fn repaired<T>(&self, work: impl FnOnce() -> Result<T, IndexError>) -> Result<T, IndexError> {
        let error = match work() {
            Ok(done) => return Ok(done),
            Err(error) => error,
        };
        let Some(damage) = error.damage() else {
            return Err(error);
        };
        let mut writer = self.writer.lock();
        self.readers.clear();
        let seen = self.cleared.load(Ordering::Acquire);
        let is_renewed = |connection: &Connection| {
            connection.query_row("SELECT cleared <> ? FROM state", [seen], |row| row.get(0))
        };
        let repaired = WORDS.repair(&self.path, &Recipe(&self.recipe), damage, is_renewed)?;
        let Some(repaired) = repaired else {
            return Err(error);
        };
        *writer = repaired;
        *self.columns.lock() = Arc::default();
        self.is_checked.store(false, Ordering::Release);
        Err(match error {
            IndexError::Sqlite(error) => IndexError::damaged(error.to_string()),
            error => error,
        })
    }
}
