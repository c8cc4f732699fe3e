//! The rows of a contract, in either database.

use std::{
    fs::OpenOptions,
    io::{BufRead, BufWriter, Write},
    path::{Path, PathBuf},
};

use serde_json::Value;
use tabellion_platform as platform;
use tabellion_runtime::{
    Claim, Failure, Row, RowEdit, RowView, Rows, RowsChange, Session, Store,
    ground::State,
    rows::{Fresh, Order, RowBefore, Select},
    spec::{EntitySpec, FieldType, RowsSpec},
};

#[cfg(feature = "postgres")]
use crate::postgres::{self, Address, Database};
use crate::{
    Pieces,
    engine::{Answer, Engine, Start},
    failures::io_failure,
    follow::Followed,
    fresh,
    inspection::Inspection,
    sqlite::{self, DataFile},
    whole::Checked,
};

/// Location of a contract's rows.
#[derive(Debug, Clone)]
pub enum Location {
    /// In a file of this folder.
    Folder(PathBuf),
    /// In a database.
    #[cfg(feature = "postgres")]
    Postgres {
        /// Its address.
        address: Address,
        /// The folder for derived files, with a subfolder per database.
        derived: PathBuf,
    },
}

impl Location {
    /// Returns the folder of the server's files: of the rows, or of what is derived from those of a database.
    pub fn folder(&self) -> &Path {
        match self {
            Self::Folder(folder) => folder,
            #[cfg(feature = "postgres")]
            Self::Postgres { derived, .. } => derived,
        }
    }
}

/// The rows of a contract.
#[derive(Debug)]
pub struct Records {
    spec: &'static RowsSpec,
    engine: Box<dyn Engine>,
}

impl Records {
    /// Opens the rows of a contract. See [`Start`] for the permitted effects on the place.
    ///
    /// # Errors
    /// If the place can't be used, the data is damaged, newer than the program, or needs a migration that loses data.
    pub fn open(place: impl Into<Location>, spec: &'static RowsSpec, start: Start) -> Result<Self, Failure> {
        let engine: Box<dyn Engine> = match place.into() {
            Location::Folder(folder) => Box::new(DataFile::open(&folder, spec, start)?),
            #[cfg(feature = "postgres")]
            Location::Postgres { address, derived } => {
                Box::new(Database::open(&address, &derived, spec, start)?)
            }
        };
        Ok(Self { spec, engine })
    }

    /// Returns the file that keeps the rows.
    #[cfg(test)]
    pub(crate) fn file(&self) -> &DataFile {
        let engine: &dyn std::any::Any = &*self.engine;
        engine.downcast_ref().expect("the rows are in a file")
    }

    /// Returns the contract's rows.
    pub fn spec(&self) -> &'static RowsSpec {
        self.spec
    }

    /// Returns the path of a derived file.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.engine.beside().join(name)
    }

    /// Returns true if the database that keeps the rows answers, or their file is in its place. Blocks for at most a few seconds.
    pub fn is_reachable(&self) -> bool {
        self.engine.is_reachable()
    }

    /// Moves SQLite's write-ahead log into the file, so the file alone has all changes: for the end of a process, whose connections
    /// may be in use until then. If another process reads, that process moves the rest when it ends.
    ///
    /// # Errors
    /// If it can't be written.
    pub fn settle(&self) -> Result<(), Failure> {
        self.engine.settle()
    }

    /// Writes the last shared copy of a derived file to `path`, which must be free. Returns false if there is no copy, as is always
    /// the case where servers don't share copies.
    ///
    /// # Errors
    /// If it can't be read or written.
    pub fn take_copy(&self, name: &str, path: &Path) -> Result<bool, Failure> {
        let Some(bytes) = self.engine.shared_copy(name)? else {
            return Ok(false);
        };
        let partial = path.with_extension("partial");
        let write = || {
            platform::create_own(&partial)?;
            platform::open_to_write(&partial, OpenOptions::new().write(true).truncate(true))?
                .write_all(&bytes)?;
            platform::rename(&partial, path)
        };
        write().map_err(io_failure("write", path))?;
        Ok(true)
    }

    /// Returns the number of changes since a copy of such a file was shared; `None` if servers don't share copies.
    ///
    /// # Errors
    /// If it can't be read.
    pub fn since_copy(&self, name: &str) -> Result<Option<i64>, Failure> {
        self.engine.since_shared(name)
    }

    /// Shares a copy of a derived file that covers the log up to a place. `copy` creates it at `path`, from where it is removed
    /// afterwards.
    ///
    /// # Errors
    /// If it can't be made, read or written.
    pub fn share_copy(
        &self,
        name: &str,
        place: i64,
        path: &Path,
        copy: impl FnOnce(&Path) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        // A killed process may have left one.
        let _ = platform::remove_file(path);
        copy(path)?;
        let read = platform::read_regular(path, u64::MAX);
        platform::remove_file(path).map_err(io_failure("remove", path))?;
        let bytes =
            read.map_err(|error| Failure::internal(format!("can't read `{}`: {error}", path.display())))?;
        self.engine.share(name, place, bytes)
    }

    /// Returns the pieces that servers of these rows share, if they do.
    pub fn pieces(&self) -> Option<&dyn Pieces> {
        self.engine.pieces()
    }

    /// Returns the place of the log's last entry; 0 if it has none.
    ///
    /// # Errors
    /// If it can't be read.
    pub fn end(&self) -> Result<i64, Failure> {
        self.engine.end()
    }

    /// Returns the id of the log's entry at a place, if there is one.
    ///
    /// # Errors
    /// If it can't be read.
    pub fn entry_id(&self, at: i64) -> Result<Option<String>, Failure> {
        self.engine.entry_id(at)
    }

    /// Returns at most `max` rows of an entity after the row `after`, ordered by identity; without `after`, the first ones. A row
    /// that changes between two pages may appear in either state, or be missing: get changes after the [`end`](Self::end) that was
    /// read before the first page from [`follow`](Self::follow).
    ///
    /// # Errors
    /// If they can't be read.
    pub fn page(
        &self,
        entity: &'static EntitySpec,
        after: Option<Row>,
        max: u64,
    ) -> Result<Vec<Row>, Failure> {
        let mut select = Select::new(entity, vec![]);
        select.limit = Some(max);
        select.order = entity.identity().map(|name| (name, Order::Up)).collect();
        select.after = after;
        self.engine.rows(&select)
    }

    /// Returns the row of an entity with this identity, if there is one.
    ///
    /// # Errors
    /// If it can't be read.
    pub fn row(&self, entity: &'static EntitySpec, key: &[Value]) -> Result<Option<Row>, Failure> {
        Ok(self.engine.rows(&crate::sql::of_identity(entity, key))?.pop())
    }

    /// Returns the number of rows of each of these entities, and the place of the log's last entry at that time.
    ///
    /// # Errors
    /// If they can't be read.
    pub fn counts(&self, entities: &[&'static EntitySpec]) -> Result<(Vec<u64>, i64), Failure> {
        self.engine.counts(entities)
    }

    /// Returns the rows of these entities that at most `max` entries after the place `after` changed.
    ///
    /// # Errors
    /// If it can't be read.
    pub fn follow(&self, after: i64, max: u32, entities: &[&str]) -> Result<Followed, Failure> {
        self.engine.follow(after, max, entities)
    }

    /// Checks that the data is intact, and that replaying the log on an empty store yields the tables, row for row.
    ///
    /// # Errors
    /// The damage or difference.
    pub fn check(&self) -> Result<Checked, Failure> {
        self.engine.check()
    }

    /// Writes the log and the rows as lines of JSON.
    ///
    /// # Errors
    /// If they can't be read or written.
    pub fn export(&self, to: &mut dyn Write) -> Result<(), Failure> {
        self.engine.export(to)
    }

    /// Writes an export to a new file. The file gets its name once it is complete and durable.
    ///
    /// # Errors
    /// If there is a file of that name, or the rows can't be read or written. Then no file is left.
    pub fn export_to(&self, path: &Path) -> Result<(), Failure> {
        sqlite::new_file(path, |partial| {
            let file = platform::open_to_write(partial, OpenOptions::new().write(true));
            let mut file = BufWriter::new(file.map_err(io_failure("write", partial))?);
            self.export(&mut file)?;
            file.flush().map_err(io_failure("write", partial))
        })
    }
}

/// Creates the data of a contract from the lines of an export: replays its log, and compares the result with its rows.
///
/// # Errors
/// If the place has data already, or a line is not one of an export. Then nothing is created.
pub fn import(
    place: impl Into<Location>,
    spec: &'static RowsSpec,
    from: &mut dyn BufRead,
) -> Result<Checked, Failure> {
    match place.into() {
        Location::Folder(folder) => sqlite::import(&folder, spec, from),
        #[cfg(feature = "postgres")]
        Location::Postgres { address, .. } => postgres::import(&address, spec, from),
    }
}

/// Inspects the data of a contract, without changes.
///
/// # Errors
/// If there is none, or it can't be read.
pub fn inspect(place: impl Into<Location>, spec: &'static RowsSpec) -> Result<Inspection, Failure> {
    match place.into() {
        Location::Folder(folder) => sqlite::inspect(&folder, spec),
        #[cfg(feature = "postgres")]
        Location::Postgres { address, .. } => postgres::inspect(&address, spec),
    }
}

impl<P: AsRef<Path> + ?Sized> From<&P> for Location {
    fn from(folder: &P) -> Self {
        Self::Folder(folder.as_ref().into())
    }
}

/// Each read is of the newest state.
impl RowView for Records {
    fn get<'a>(&'a self, entity: &'static EntitySpec, key: &'a [Value]) -> Answer<'a, Option<Row>> {
        Box::pin(async move { self.engine.snapshot().await?.view().get(entity, key).await })
    }

    fn was_removed<'a>(&'a self, entity: &'static EntitySpec, key: &'a [Value]) -> Answer<'a, bool> {
        Box::pin(async move { self.engine.snapshot().await?.view().was_removed(entity, key).await })
    }

    fn select<'a>(&'a self, select: &'a Select) -> Answer<'a, Vec<Row>> {
        Box::pin(async move { self.engine.snapshot().await?.view().select(select).await })
    }

    fn count<'a>(&'a self, select: &'a Select) -> Answer<'a, u64> {
        Box::pin(async move { self.engine.snapshot().await?.view().count(select).await })
    }

    fn fresh(&self) -> &dyn Fresh {
        &fresh::RUNNING
    }
}

impl Store<Rows> for Records {
    fn begin<'a>(&'a self, claim: Claim<'a>) -> Answer<'a, Box<dyn Session<Rows> + 'a>> {
        self.engine.begin(claim)
    }

    fn snapshot<'a>(&'a self) -> Answer<'a, Option<State<'a, Rows>>> {
        Box::pin(async move { Ok(Some(self.engine.snapshot().await?)) })
    }

    fn difference(&self, before: &Vec<Option<RowBefore>>, change: &RowsChange) -> String {
        let mut text = String::new();
        for (before, row) in before.iter().zip(change.rows()) {
            text += &format!("{}\n", row.name());
            let is_secret = |name: &str| {
                let kind = row.entity.field(name).map(|field| field.kind);
                matches!(kind, Some(FieldType::Secret { .. }))
            };
            let mut line = |sign: char, name: &str, value: Option<&Value>| {
                if let Some(value) = value.filter(|_| !is_secret(name)) {
                    text += &format!("{sign} {name}: {value}\n");
                }
            };
            let old = before.as_ref().map(|before| &before.row);
            match &row.edit {
                RowEdit::Insert(new) => new.iter().for_each(|(name, value)| line('+', name, Some(value))),
                RowEdit::Patch(set) => {
                    for (name, value) in set {
                        line('-', name, old.and_then(|old| old.get(name)));
                        line('+', name, Some(value));
                    }
                }
                RowEdit::Remove => {
                    let old = old.into_iter().flatten();
                    old.for_each(|(name, value)| line('-', name, Some(value)));
                }
            }
        }
        text
    }
}
