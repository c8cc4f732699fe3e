//! The catalogue: all notes of a library in SQLite, derived from their files; it can be rebuilt from them at any time.
//!
//! [`Catalogue::follow`] compares the stat fields of all files with those in the catalogue, reads the files that differ, and stores
//! them in one transaction. Sequence numbers grow with each change, so an index of words can follow the catalogue.
//!
//! | module | does |
//! |---|---|
//! | `follow` | finding files that differ, and reading them on several threads |
//! | `write` | a transaction: rows, ids, sequence numbers |
//! | `read` | entries, links and tags, in one snapshot |
//! | `instance`, `instances` | documents in `workflows/` |
//! | `values` | values derived from documents and their history |
//! | `source` | the catalogue as the source of an index of words |
//! | `file`, `error` | the SQLite file |

mod error;
mod file;
mod follow;
mod instance;
mod instances;
mod read;
mod source;
mod values;
mod write;

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};

use parking_lot::Mutex;
use rusqlite::{Connection, TransactionBehavior};
use tabellion_platform::create_folders;
use tabellion_sqlite::{FileError, NOTES, Pool};

pub use self::{
    error::CatalogueError,
    follow::{Files, Part, problems},
    instance::{ContentHash, FoundInstance, Instance, ParseInstance},
    instances::InstanceFilter,
    read::{Entry, FoundLink, Position, Selection, Snapshot},
};
use self::{
    file::Tables,
    follow::{Difference, StatKeys},
    write::Writer,
};

/// Maximum number of idle connections that are kept for later readers.
const MAX_IDLE: usize = 4;
/// Maximum number of files that are in memory at once.
const FILES_AT_ONCE: usize = 2000;

/// The catalogue of a library's notes, in a file. Several threads and processes can use the same file.
#[derive(Debug)]
pub struct Catalogue {
    path: PathBuf,
    writer: Mutex<Connection>,
    readers: Pool,
    known: Mutex<Arc<Cached>>,
    /// The last generation that was read.
    seen: AtomicI64,
    parse: ParseInstance,
}

/// The stat fields of a generation of the catalogue.
#[derive(Debug, Default)]
struct Cached {
    generation: i64,
    sequence: i64,
    known: StatKeys,
}

/// State of the catalogue after it followed the library.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Followed {
    /// Number of the catalogue's last change; an index with the same number is current.
    pub sequence: i64,
    /// Number of files that were read.
    pub read: usize,
    /// Paths of files that can't be read, each with the reason. They are not in the catalogue until they can be read.
    pub unreadable: Vec<(String, String)>,
}

impl Catalogue {
    /// Opens the catalogue in the file `path`, with `parse` for the documents in `workflows/`; its folder is created if it is missing.
    /// A file that is missing, damaged or of a different version becomes an empty catalogue.
    ///
    /// # Errors
    /// If the file can't be created or written.
    pub fn open(path: &Path, parse: ParseInstance) -> Result<Self, CatalogueError> {
        if let Some(folder) = path.parent() {
            create_folders(folder, 2).map_err(|source| FileError::Io { path: folder.into(), source })?;
        }
        Ok(Self {
            path: path.into(),
            writer: Mutex::new(NOTES.open(path, &Tables)?),
            readers: Pool::new(MAX_IDLE),
            known: Mutex::default(),
            seen: AtomicI64::new(0),
            parse,
        })
    }

    /// Updates the catalogue to the current files.
    ///
    /// # Errors
    /// If the library can't be listed, or the catalogue can't be written.
    pub fn follow(&self, files: &dyn Files) -> Result<Followed, CatalogueError> {
        self.follow_part(files, Part::All)
    }

    /// As [`follow`](Self::follow), for the documents in `workflows/` alone.
    ///
    /// # Errors
    /// As for [`follow`](Self::follow).
    pub fn follow_instances(&self, files: &dyn Files) -> Result<Followed, CatalogueError> {
        self.follow_part(files, Part::Instances)
    }

    fn follow_part(&self, files: &dyn Files, part: Part) -> Result<Followed, CatalogueError> {
        match self.repaired(|| self.try_follow(files, part)) {
            Err(CatalogueError::Damaged(_)) => self.try_follow(files, part),
            outcome => outcome,
        }
    }

    fn try_follow(&self, files: &dyn Files, part: Part) -> Result<Followed, CatalogueError> {
        let known = match part {
            Part::All => self.cached_stats()?,
            Part::Instances => self.in_snapshot(|connection| {
                Ok(Arc::new(Cached {
                    generation: file::generation(connection)?,
                    sequence: connection.query_row("SELECT sequence FROM state", [], |row| row.get(0))?,
                    known: read::stat_keys(connection, part)?,
                }))
            })?,
        };
        let difference = Difference::between(&known.known, &files.stats(part)?);
        if difference.is_empty() {
            return Ok(Followed { sequence: known.sequence, ..Followed::default() });
        }
        let mut writer = self.writer.lock();
        let transaction = writer.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let difference = if file::generation(&transaction)? == known.generation {
            difference
        } else {
            // The catalogue was changed by another process or thread, perhaps from a newer list of files.
            Difference::between(&read::stat_keys(&transaction, part)?, &files.stats(part)?)
        };
        let mut followed = Followed { read: difference.changed.len(), ..Followed::default() };
        let mut changes = Writer::new(&transaction)?;
        for path in &difference.removed {
            changes.remove(path)?;
        }
        for part in difference.changed.chunks(FILES_AT_ONCE) {
            for read in follow::read(files, self.parse, part) {
                let path = read.path.clone();
                followed.unreadable.extend(changes.put(read)?.map(|reason| (path, reason)));
            }
        }
        followed.sequence = changes.finish()?;
        transaction.commit()?;
        Ok(followed)
    }

    /// Reads one snapshot of the catalogue.
    ///
    /// # Errors
    /// If it can't be read.
    pub fn read<T>(
        &self,
        read: impl FnOnce(&Snapshot<'_>) -> Result<T, CatalogueError>,
    ) -> Result<T, CatalogueError> {
        self.repaired(|| self.in_snapshot(|connection| read(&Snapshot::new(connection))))
    }

    fn in_snapshot<T>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, CatalogueError>,
    ) -> Result<T, CatalogueError> {
        self.readers.read(
            || Ok(NOTES.connect(&self.path)?),
            |connection| {
                let generation = file::generation(connection)?;
                self.seen.store(generation, Ordering::Release);
                read(connection)
            },
        )
    }

    /// Returns the stat fields in the catalogue, read again only if it has changed.
    fn cached_stats(&self) -> Result<Arc<Cached>, CatalogueError> {
        let mut cached = self.known.lock();
        self.in_snapshot(|connection| {
            let generation = file::generation(connection)?;
            if cached.generation != generation {
                let sequence = connection.query_row("SELECT sequence FROM state", [], |row| row.get(0))?;
                let known = read::stat_keys(connection, Part::All)?;
                *cached = Arc::new(Cached { generation, sequence, known });
            }
            Ok(Arc::clone(&cached))
        })
    }

    /// Does `work`; if the catalogue turns out to be damaged, empties it for the next attempt.
    fn repaired<T>(&self, work: impl FnOnce() -> Result<T, CatalogueError>) -> Result<T, CatalogueError> {
        let error = match work() {
            Ok(done) => return Ok(done),
            Err(error) => error,
        };
        let Some(damage) = error.damage() else {
            return Err(error);
        };
        let mut writer = self.writer.lock();
        self.readers.clear();
        // Generations of a new file are larger than this by far.
        let seen = self.seen.load(Ordering::Acquire).saturating_add(1_000_000);
        let is_renewed = |connection: &Connection| Ok(file::generation(connection)? > seen);
        let Some(repaired) = NOTES.repair(&self.path, &Tables, damage, is_renewed)? else {
            return Err(error);
        };
        *writer = repaired;
        *self.known.lock() = Arc::default();
        Err(match error {
            CatalogueError::Sqlite(error) => CatalogueError::Damaged(error.to_string()),
            error => error,
        })
    }
}
