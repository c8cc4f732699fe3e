//! Connections, the version of a file, its lock, and putting it aside.

use std::{
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{
    Connection, OpenFlags,
    config::DbConfig,
    ffi::{Error, SQLITE_READONLY},
};
use tabellion_platform::{FileLock, create_own, lock_file, rename};

use crate::{Authoritative, Kind, is_busy};

/// Endings of the files that SQLite keeps next to a file. The log comes first: next to a different file, it would be taken for that
/// file's.
pub const BESIDE: [&str; 3] = ["-wal", "-shm", "-journal"];

/// Error when using a file.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// An error of SQLite.
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    /// A file can't be created, locked, moved or removed.
    #[error("can't use `{}`: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl FileError {
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::Io { path: path.to_owned(), source }
    }
}

/// Comparison of a file's version with that of its [`Kind`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// The file has no tables, and no version.
    Empty,
    /// The version is that of the kind.
    Current,
    /// The file has this version, which is older.
    Older(i32),
    /// The file has this version, which is newer.
    Newer(i32),
    /// The file is of a different kind or program.
    Foreign,
}

impl Kind {
    /// Opens a connection to a file that exists.
    ///
    /// # Errors
    /// If there is no such file, or it can't be read.
    pub fn connect(&self, path: &Path) -> rusqlite::Result<Connection> {
        self.set_up(open(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?)
    }

    /// As [`Kind::connect`], for reading only.
    ///
    /// # Errors
    /// As for [`Kind::connect`].
    pub fn connect_read_only(&self, path: &Path) -> rusqlite::Result<Connection> {
        self.set_up(open(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?)
    }

    /// Opens a connection to a file that is constant meanwhile. Its write-ahead log is not read, and no files are written next to it.
    ///
    /// # Errors
    /// As for [`Kind::connect`].
    pub fn connect_unchanging(&self, path: &Path) -> rusqlite::Result<Connection> {
        let mut uri = "file:".to_owned();
        for byte in path.as_os_str().as_encoded_bytes() {
            match byte {
                b'/' | b'.' | b'-' | b'_' | b'~' => uri.push(char::from(*byte)),
                byte if byte.is_ascii_alphanumeric() => uri.push(char::from(*byte)),
                byte => uri += &format!("%{byte:02x}"),
            }
        }
        uri += "?immutable=1";
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
        self.set_up(open(Path::new(&uri), flags)?)
    }

    fn set_up(&self, connection: Connection) -> rusqlite::Result<Connection> {
        connection.busy_timeout(self.busy_timeout)?;
        connection.set_prepared_statement_cache_capacity(self.statements);
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
        // No file of ours has them, but one that came with a library can: they would run with our statements, without end.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
        // Otherwise a cached statement is prepared again whenever a number in it differs.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        let stays = !self.moves_log_when_closed;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, stays)?;
        let Self { synchronous, pragmas, .. } = self;
        connection.execute_batch(&format!(
            "PRAGMA synchronous = {synchronous}; PRAGMA trusted_schema = OFF; {pragmas}"
        ))?;
        Ok(connection)
    }

    /// Checks that a connection can change its file. SQLite opens a file, or the index of its log, read-only if it can't be opened
    /// for writing; the index then stays so for all connections of the process, until the last of them is closed.
    ///
    /// # Errors
    /// `SQLITE_READONLY` if it can't. A concurrent write by a different connection is not an error.
    pub fn check_writable(&self, connection: &Connection) -> rusqlite::Result<()> {
        if connection.is_readonly("main")? {
            return Err(rusqlite::Error::SqliteFailure(Error::new(SQLITE_READONLY), None));
        }
        connection.busy_timeout(Duration::ZERO)?;
        let tried = connection.execute_batch("BEGIN IMMEDIATE; ROLLBACK");
        connection.busy_timeout(self.busy_timeout)?;
        tried.or_else(|error| if is_busy(&error) { Ok(()) } else { Err(error) })
    }

    /// Compares the version of an open file.
    ///
    /// # Errors
    /// If it can't be read.
    pub fn format(&self, connection: &Connection) -> rusqlite::Result<Format> {
        let number = |sql| connection.query_row(sql, [], |row| row.get::<_, i32>(0));
        let application = number("PRAGMA application_id")?;
        let format = number("PRAGMA user_version")?;
        if application != self.application {
            let is_empty =
                application == 0 && format == 0 && number("SELECT count(*) FROM sqlite_schema")? == 0;
            return Ok(if is_empty { Format::Empty } else { Format::Foreign });
        }
        Ok(match format.cmp(&self.format) {
            std::cmp::Ordering::Less => Format::Older(format),
            std::cmp::Ordering::Equal => Format::Current,
            std::cmp::Ordering::Greater => Format::Newer(format),
        })
    }

    /// Sets the version of an open file to that of this kind.
    ///
    /// # Errors
    /// If it can't be written.
    pub fn set_format(&self, connection: &Connection) -> rusqlite::Result<()> {
        connection.pragma_update(None, "application_id", self.application)?;
        connection.pragma_update(None, "user_version", self.format)
    }
}

impl Authoritative {
    /// Renames the file and those that SQLite keeps next to it, the log first. Returns false if there was no file.
    ///
    /// # Errors
    /// If one can't be renamed; those before it are.
    pub fn put_aside(&self, path: &Path, to: &Path) -> io::Result<bool> {
        let mut is_there = false;
        for ending in BESIDE.into_iter().chain([""]) {
            let from = beside(path, ending);
            is_there = from.exists();
            if is_there {
                rename(&from, &beside(to, ending))?;
            }
        }
        Ok(is_there)
    }
}

/// Takes the lock under which processes that start at the same time set a file up one after another.
///
/// # Errors
/// If the lock's file can't be created or locked.
pub fn lock(path: &Path) -> Result<FileLock, FileError> {
    let lock = path.with_extension("lock");
    create_own(&lock).and_then(|()| lock_file(&lock)).map_err(FileError::io(&lock))
}

/// Returns the path of a file next to another: `ending` is added to its name.
pub fn beside(file: &Path, ending: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Opens an empty database that only this connection sees, and that spills to the disk.
///
/// # Errors
/// If it can't be made.
pub fn temporary() -> rusqlite::Result<Connection> {
    open(Path::new(""), OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)
}

/// Opens a file without any settings.
#[expect(clippy::disallowed_methods, reason = "the one opener")]
pub(crate) fn open(path: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
    Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)
}
