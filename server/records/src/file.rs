//! The data file: found, created, compared with the contract, and migrated.

use std::{
    fs::{DirBuilder, OpenOptions},
    io,
    path::{Path, PathBuf, absolute},
    time::Duration,
};

use rusqlite::{Connection, Transaction, TransactionBehavior, config::DbConfig};
use tabellion_platform::{self as platform, create_own, lock_file};
use tabellion_runtime::{Failure, FailureKind, rows::identity, spec::RowsSpec};
use tabellion_sqlite::{Format, ROWS};

use crate::{
    failures::{Doing, at, damaged, refused},
    inspection::{Standing, standing},
    layout::{self, Layout},
    log,
    mark::{self, Mark},
    meta::{meta, set_meta},
    replacement,
    usage::{self, Usage},
    write::{REMOVED, keep_id},
};

/// What opening may do to a data folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// Creates what is missing, and applies what only adds to the tables.
    Serve,
    /// Also applies what drops entities and fields.
    Migrate,
    /// Changes nothing, and needs a file of this version.
    Existing,
}

/// Returns the path of a contract's data file.
pub fn path(folder: &Path, spec: &RowsSpec) -> PathBuf {
    folder.join(format!("{}.db", spec.contract))
}

/// An open data file.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) path: PathBuf,
    pub(crate) connection: Connection,
    /// The mark, if the file can be changed.
    pub(crate) mark: Option<Mark>,
    /// Kept as long as the file is in use.
    pub(crate) usage: Option<Usage>,
}

/// Opens the data file, with its tables as `spec` has them.
pub(crate) fn open(folder: &Path, spec: &'static RowsSpec, start: Start) -> Result<Opened, Failure> {
    layout::check_names(spec).map_err(refused)?;
    let path = path(folder, spec);
    // What can't be changed can still be read.
    if start == Start::Existing || (start == Start::Serve && is_read_only(&path)) {
        return existing(path, spec);
    }
    create_folder(folder).map_err(at("create", folder))?;
    let usage = match start {
        Start::Migrate => usage::alone(&path)?,
        _ => usage::shared(&path)?,
    };
    // Processes that start at the same time set the file up one after another.
    let lock = path.with_extension("lock");
    create_own(&lock).map_err(at("create", &lock))?;
    let lock = lock_file(&lock).map_err(at("lock", &lock))?;
    replacement::finish(&path)?;
    if !path.exists() {
        mark::check_gone(&path)?;
    }
    create_own(&path).map_err(at("create", &path))?;
    let mut connection = connect(&path)?;
    set_up(&connection, spec, start)?;
    check_writable(&connection)?;
    let mark = Mark::open(&mut connection, &path)?;
    moves_log_when_closed(&connection, true)?;
    sync(folder)?;
    drop(lock);
    Ok(Opened {
        path,
        connection,
        mark: Some(mark),
        usage: Some(usage),
    })
}

fn existing(path: PathBuf, spec: &'static RowsSpec) -> Result<Opened, Failure> {
    if !path.exists() && !replacement::is_pending(&path) {
        return Err(missing(&path));
    }
    let usage = usage::shared_if_possible(&path)?;
    replacement::finish(&path)?;
    let connection = connect(&path)?;
    compare(&connection, spec, Start::Existing)?;
    // A server that uses the file will move its log.
    connection
        .busy_timeout(Duration::ZERO)
        .doing("open the data file")?;
    if check_writable(&connection).is_ok() {
        moves_log_when_closed(&connection, true)?;
    }
    connection
        .busy_timeout(ROWS.busy_timeout)
        .doing("open the data file")?;
    Ok(Opened {
        path,
        connection,
        mark: None,
        usage,
    })
}

/// Returns the failure of a file that is not there.
pub(crate) fn missing(path: &Path) -> Failure {
    let message = format!("there is no data file `{}`", path.display());
    Failure::new(FailureKind::NotFound, message)
}

/// Makes the names and bytes of a file, or the names in a folder, durable.
pub(crate) fn sync(path: &Path) -> Result<(), Failure> {
    platform::open_to_sync(path)
        .and_then(|file| file.sync_all())
        .map_err(at("write", path))
}

/// Creates a folder that only its owner can enter, and the folders above it.
pub(crate) fn create_folder(folder: &Path) -> io::Result<()> {
    let folder = absolute(folder)?;
    let missing: Vec<_> = folder.ancestors().take_while(|folder| !folder.is_dir()).collect();
    for folder in missing.iter().rev() {
        #[cfg_attr(not(unix), expect(unused_mut, reason = "only Unix has modes"))]
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        match builder.create(folder) {
            // Another process was first.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => {}
            created => created?,
        }
    }
    // The new names must survive a power failure; the folder above them may not be readable.
    for folder in missing.iter().filter_map(|folder| folder.parent()) {
        let _ = platform::open_to_sync(folder).and_then(|folder| folder.sync_all());
    }
    Ok(())
}

/// Opens a connection to the file, as far as permissions go for changes.
///
/// # Errors
/// If it can't be opened, or changes are missing that were acknowledged.
pub(crate) fn connect(path: &Path) -> Result<Connection, Failure> {
    let connection = connect_unchecked(path)?;
    mark::check(&connection, path)?;
    Ok(connection)
}

/// As [`connect`], to whatever is left of the file.
pub(crate) fn connect_unchecked(path: &Path) -> Result<Connection, Failure> {
    let connection = match ROWS.connect(path) {
        // There is no place for what SQLite keeps beside the file.
        Err(error) if is_denied(&error) && is_on_read_only_system(path) => ROWS.connect_unchanging(path),
        connected => connected,
    }
    .doing("open the data file")?;
    // Statements are prepared once: without this, each value that is compared with a column of a partial index prepares them anew.
    connection
        .set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)
        .doing("open the data file")?;
    Ok(connection)
}

/// Sets whether closing the last connection to the file moves the log of writes into it.
pub(crate) fn moves_log_when_closed(connection: &Connection, moves: bool) -> Result<(), Failure> {
    connection
        .set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, !moves)
        .doing("open the data file")
        .map(drop)
}

/// Checks that the file can be changed. After a failure to open it or its index, SQLite would only read, and fail at each change.
fn check_writable(connection: &Connection) -> Result<(), Failure> {
    // A transaction that can't change anything begins nevertheless.
    if connection.is_readonly("main").doing("open the data file")? {
        let error = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_READONLY);
        return Err(rusqlite::Error::SqliteFailure(error, None)).doing("open the data file");
    }
    let tried = connection.execute_batch("BEGIN IMMEDIATE; ROLLBACK");
    tried.doing("open the data file")
}

fn is_denied(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{CannotOpen, ReadOnly};
    matches!(error.sqlite_error_code(), Some(CannotOpen | ReadOnly))
}

/// Returns true if the file exists and can't be written.
fn is_read_only(path: &Path) -> bool {
    let denied = |kind| {
        matches!(
            kind,
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem
        )
    };
    opened_to_write(path).is_some_and(denied)
}

fn is_on_read_only_system(path: &Path) -> bool {
    opened_to_write(path) == Some(io::ErrorKind::ReadOnlyFilesystem)
}

/// Returns why the file can't be opened for writing, if it can't.
fn opened_to_write(path: &Path) -> Option<io::ErrorKind> {
    let opened = platform::open_to_write(path, OpenOptions::new().write(true));
    opened.err().map(|error| error.kind())
}

/// Creates the tables, or compares them with the contract's.
fn set_up(connection: &Connection, spec: &'static RowsSpec, start: Start) -> Result<(), Failure> {
    let mode: String = connection
        .query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))
        .doing("open the data file")?;
    if mode != "wal" {
        return Err(refused(format!(
            "the data folder's file system lacks what SQLite's WAL needs ({mode})"
        )));
    }
    let format = || ROWS.format(connection).doing("read the data file");
    if format()? == Format::Empty {
        return create(connection, spec);
    }
    compare(connection, spec, start)?;
    if !matches!(format()?, Format::Older(_)) {
        return Ok(());
    }
    in_transaction(connection, || {
        // Another process may have done it meanwhile.
        if let Format::Older(_) = format()? {
            keep_ids(connection, spec)?;
            ROWS.set_format(connection).doing("create the tables")?;
        }
        Ok(())
    })
}

/// Creates the tables of an empty file, in one transaction.
pub(crate) fn create(connection: &Connection, spec: &RowsSpec) -> Result<(), Failure> {
    in_transaction(connection, || {
        create_tables(connection, spec)?;
        mark::renew(connection)?;
        ROWS.set_format(connection).doing("create the tables")
    })
}

/// Keeps the ids of the rows that were removed before there was a table of them.
fn keep_ids(connection: &Connection, spec: &RowsSpec) -> Result<(), Failure> {
    connection.execute_batch(REMOVED).doing("migrate the tables")?;
    log::for_each(connection, |entry| {
        let removed = entry.rows.iter().filter(|row| row.after.is_none());
        removed
            .filter_map(|row| Some((row, spec.entity(&row.entity)?)))
            .filter(|(_, entity)| entity.has_id())
            .try_for_each(|(row, entity)| keep_id(connection, entity.name, &identity(entity, &row.key)))
    })
    .map(drop)
}

/// Creates the store's own tables and those of the entities.
pub(crate) fn create_tables(connection: &Connection, spec: &RowsSpec) -> Result<(), Failure> {
    let own = [
        "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID",
        REMOVED,
    ];
    let entities = spec
        .entities
        .iter()
        .flat_map(|entity| layout::create(spec, entity));
    for sql in own
        .iter()
        .chain(&log::CREATE)
        .map(|sql| (*sql).to_owned())
        .chain(entities)
    {
        connection.execute_batch(&sql).doing("create the tables")?;
    }
    set_meta(connection, "contract", spec.contract)?;
    set_meta(connection, "undone", "0")?;
    set_version(connection, spec)
}

fn set_version(connection: &Connection, spec: &RowsSpec) -> Result<(), Failure> {
    let layout = serde_json::to_string(&Layout::of(spec)).map_err(damaged)?;
    set_meta(connection, "version", spec.version)?;
    set_meta(connection, "layout", &layout)
}

/// Compares the file with the contract, and applies the differences that `start` permits.
fn compare(connection: &Connection, spec: &'static RowsSpec, start: Start) -> Result<(), Failure> {
    let found = standing(connection, spec)?;
    let version = &found.version;
    let migrate = match &found.standing {
        Standing::Current if version == spec.version || start == Start::Existing => return Ok(()),
        Standing::Current => return set_version(connection, spec),
        Standing::Adds if start == Start::Existing => Some("tables are added to".to_owned()),
        Standing::Loses(what) if start != Start::Migrate => Some(what.join("; ")),
        Standing::Adds | Standing::Loses(_) => None,
        Standing::Foreign(_) | Standing::Newer | Standing::Impossible(_) => {
            return Err(refused(found.describe(spec)));
        }
    };
    if let Some(what) = migrate {
        return Err(refused(format!(
            "the data is of version {version} and must be migrated: {what}; run `tabellion data migrate`, which makes a backup first"
        )));
    }
    // Tables that are dropped may be referred to by others that are dropped later.
    connection
        .execute_batch("PRAGMA foreign_keys = OFF")
        .doing("migrate the tables")?;
    in_transaction(connection, || {
        // Another process may have done it meanwhile.
        let layout = meta(connection, "layout")?.unwrap_or_default();
        let layout: Layout = serde_json::from_str(&layout).map_err(damaged)?;
        let steps = layout.to(spec);
        for sql in steps.sql.iter().chain(&steps.lossy_sql) {
            connection.execute_batch(sql).doing("migrate the tables")?;
        }
        set_version(connection, spec)
    })?;
    connection
        .execute_batch("PRAGMA foreign_keys = ON")
        .doing("migrate the tables")
}

/// Does `work` in a transaction, which is undone if it fails.
pub(crate) fn in_transaction<T>(
    connection: &Connection,
    work: impl FnOnce() -> Result<T, Failure>,
) -> Result<T, Failure> {
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate);
    let transaction = transaction.doing("begin a change")?;
    let outcome = work()?;
    transaction.commit().doing("write a change")?;
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_opened_to_read_alone_is_not_writable() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x.db");
        let writing = Connection::open(&path).expect("a database");
        writing.execute_batch("CREATE TABLE x (y)").expect("a table");
        check_writable(&writing).expect("it is writable");
        let reading = ROWS.connect_read_only(&path);
        let refused = check_writable(&reading.expect("a database")).expect_err("it is not");
        assert!(refused.to_string().contains("can't be written"), "{refused}");
    }
}
