//! Derived files: opened, and emptied if they are damaged or of a different version.

use std::{
    io,
    path::Path,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior, config::DbConfig};
use tabellion_platform::{create_own, remove_file};

use crate::{
    Damage, Derived, FileError, Format, check, is_busy, is_damage, lock,
    open::{BESIDE, beside, open, temporary},
};

/// Tables and first rows of a derived file.
pub trait Content {
    /// Creates them in an empty file, within a transaction.
    ///
    /// # Errors
    /// If they can't be written.
    fn create(&self, connection: &Connection) -> rusqlite::Result<()>;

    /// Returns false if the rows of a file were made in a way that the caller can't use.
    ///
    /// # Errors
    /// If they can't be read.
    fn is_current(&self, connection: &Connection) -> rusqlite::Result<bool>;
}

impl Derived {
    /// Opens the file, whose folder exists. One that is missing, damaged, or of a different version or content is made anew, for
    /// its owner alone. As long as the connection is open, others of the same process can write too.
    ///
    /// # Errors
    /// If it can't be locked, created, read or written. It is emptied only if its bytes or tables are damaged.
    pub fn open(&self, path: &Path, content: &dyn Content) -> Result<Connection, FileError> {
        let _held = lock(path)?;
        create_for_owner(path)?;
        let connection = self.open_or_empty(path, content, create_for_owner)?;
        self.check_writable(&connection)?;
        Ok(connection)
    }

    /// As [`Derived::open`], for a file with the process's default permissions, and a caller that holds its own lock.
    ///
    /// # Errors
    /// As for [`Derived::open`].
    pub fn open_shared(&self, path: &Path, content: &dyn Content) -> Result<Connection, FileError> {
        create_shared(path)?;
        self.open_or_empty(path, content, create_shared)
    }

    fn open_or_empty(
        &self,
        path: &Path,
        content: &dyn Content,
        create: fn(&Path) -> Result<(), FileError>,
    ) -> Result<Connection, FileError> {
        match self.existing_unless_damaged(path, content)? {
            Some(connection) => Ok(connection),
            None => self.make(path, content, create),
        }
    }

    fn existing_unless_damaged(
        &self,
        path: &Path,
        content: &dyn Content,
    ) -> rusqlite::Result<Option<Connection>> {
        match self.existing(path, content) {
            Err(error) if Damage::in_derived(&error).is_some() => Ok(None),
            existing => existing,
        }
    }

    /// Opens the file if it has this version and content, without changes.
    ///
    /// # Errors
    /// If it can't be read, or is damaged.
    pub fn existing(&self, path: &Path, content: &dyn Content) -> rusqlite::Result<Option<Connection>> {
        let connection = self.connect(path)?;
        let is_current = self.format(&connection)? == Format::Current
            && has_tables(&connection, content)?
            && content.is_current(&connection)?;
        Ok(is_current.then_some(connection))
    }

    /// Empties the file after an error that is evidence against it, unless `is_renewed`: another process has made it anew since it
    /// was read. Returns `None` if the error was only a suspicion, and the file has its tables.
    ///
    /// # Errors
    /// As for [`Derived::open`].
    pub fn repair(
        &self,
        path: &Path,
        content: &dyn Content,
        damage: Damage,
        is_renewed: impl FnOnce(&Connection) -> rusqlite::Result<bool>,
    ) -> Result<Option<Connection>, FileError> {
        let _held = lock(path)?;
        create_for_owner(path)?;
        if let Some(connection) = self.existing_unless_damaged(path, content)? {
            let is_suspicion = damage == Damage::Suspected;
            if is_renewed(&connection).unwrap_or(false)
                && (is_suspicion || check(&connection).is_ok_and(|problem| problem.is_none()))
            {
                return Ok(Some(connection));
            }
            if is_suspicion {
                return Ok(None);
            }
        }
        self.make(path, content, create_for_owner).map(Some)
    }

    /// Makes an empty file in place of the existing one. The lock is held.
    fn make(
        &self,
        path: &Path,
        content: &dyn Content,
        create: fn(&Path) -> Result<(), FileError>,
    ) -> Result<Connection, FileError> {
        // In place: other processes which have the file open see it; a file too damaged for that is removed.
        match self.reset(path) {
            Err(error) if is_damage(&error) => {
                remove(path)?;
                create(path)?;
            }
            outcome => outcome?,
        }
        let connection = self.connect(path)?;
        connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
        let transaction = Transaction::new_unchecked(&connection, TransactionBehavior::Immediate)?;
        content.create(&transaction)?;
        self.set_format(&transaction)?;
        transaction.commit()?;
        Ok(connection)
    }

    /// Empties a database of any content, even a damaged one, in the way that SQLite documents.
    fn reset(&self, path: &Path) -> rusqlite::Result<()> {
        let connection = open(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        connection.busy_timeout(self.busy_timeout)?;
        connection.execute_batch(&format!("PRAGMA page_size = {}", self.page_size))?;
        // Resetting reads no header. If the header specifies WAL, the connection is in WAL mode from now on, as those of other
        // processes are.
        let header = connection.query_row("PRAGMA schema_version", [], |_| Ok(()));
        let unreadable = header.err().filter(is_damage);
        if unreadable.is_some() {
            connection.busy_timeout(Duration::ZERO)?;
        }
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_RESET_DATABASE, true)?;
        let emptied = connection.execute_batch("VACUUM");
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_RESET_DATABASE, false)?;
        // Processes that have a file without a header open can't use it either.
        emptied.map_err(|error| unreadable.filter(|_| is_busy(&error)).unwrap_or(error))
    }
}

fn remove(path: &Path) -> Result<(), FileError> {
    for ending in ["", BESIDE[0], BESIDE[1], BESIDE[2]] {
        let file = beside(path, ending);
        match remove_file(&file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(FileError::io(&file)(error));
            }
            _ => {}
        }
    }
    Ok(())
}

fn create_for_owner(path: &Path) -> Result<(), FileError> {
    // Other processes may still use the log of a file that was removed.
    if path.symlink_metadata().is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
        remove(path)?;
    }
    create_own(path).map_err(FileError::io(path))
}

fn create_shared(path: &Path) -> Result<(), FileError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
    Ok(open(path, flags).map(drop)?)
}

/// Returns true if the file has all tables and indexes that `content` creates, by the same SQL. There may be more.
fn has_tables(connection: &Connection, content: &dyn Content) -> rusqlite::Result<bool> {
    let schema = |connection: &Connection| -> rusqlite::Result<Vec<(String, Option<String>)>> {
        let mut select = connection.prepare("SELECT name, sql FROM sqlite_schema")?;
        let rows = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        rows.collect()
    };
    let expected = temporary()?;
    content.create(&expected)?;
    let tables = schema(connection)?;
    Ok(schema(&expected)?.iter().all(|table| tables.contains(table)))
}

/// Returns the generation of a new file: nanoseconds since 1970, more than any earlier file has counted to.
pub fn new_generation() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_nanos()).unwrap_or(i64::MAX / 2)
}
