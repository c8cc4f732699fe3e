//! The data file: found, created, compared with the contract, and migrated.

use std::{
    fs::DirBuilder,
    io,
    path::{Path, PathBuf, absolute},
};

use rusqlite::Connection;
use tabellion_platform::{self as platform, create_own, lock_file};
use tabellion_runtime::{Failure, rows::identity, spec::RowsSpec};
use tabellion_sqlite::{Format, ROWS};

use super::{
    connection::{connect, in_transaction, is_read_only, missing, moves_log_when_closed, path, sync},
    log,
    mark::{self, Mark},
    meta::meta,
    replacement,
    tables::{create, set_version},
    usage::{self, Usage},
    write::{REMOVED, keep_id},
};
use crate::{
    engine::Start,
    failures::{Doing, damaged, io_failure, refused},
    inspection::{self, Described, Inspection, SchemaDifference},
    layout::{self, Layout},
    sql::Dialect,
};

/// An open data file.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) path: PathBuf,
    pub(crate) connection: Connection,
    /// The mark, if the file can be changed.
    pub(crate) mark: Option<Mark>,
    /// Held while the file is in use.
    pub(crate) usage: Option<Usage>,
}

/// Opens the data file, with the tables of `spec`.
pub(crate) fn open(folder: &Path, spec: &'static RowsSpec, start: Start) -> Result<Opened, Failure> {
    layout::check_names(spec).map_err(refused)?;
    let path = path(folder, spec);
    // A file that can't be changed can still be read.
    if start == Start::Existing || (start == Start::Serve && is_read_only(&path)) {
        return existing(path, spec);
    }
    create_folder(folder).map_err(io_failure("create", folder))?;
    let usage = match start {
        Start::Migrate => usage::alone(&path)?,
        _ => usage::shared(&path)?,
    };
    // Processes that start at the same time set the file up one after another.
    let lock = path.with_extension("lock");
    create_own(&lock).map_err(io_failure("create", &lock))?;
    let lock = lock_file(&lock).map_err(io_failure("lock", &lock))?;
    replacement::finish(&path)?;
    if !path.exists() {
        mark::check_gone(&path)?;
    }
    create_own(&path).map_err(io_failure("create", &path))?;
    let mut connection = connect(&path)?;
    set_up(&connection, spec, start)?;
    ROWS.check_writable(&connection).doing("open the data file")?;
    let mark = Mark::open(&mut connection, &path)?;
    moves_log_when_closed(&connection, true)?;
    sync(folder)?;
    drop(lock);
    Ok(Opened { path, connection, mark: Some(mark), usage: Some(usage) })
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
    if ROWS.check_writable(&connection).is_ok() {
        moves_log_when_closed(&connection, true)?;
    }
    Ok(Opened { path, connection, mark: None, usage })
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

/// Creates the tables, or compares them with the contract's.
fn set_up(connection: &Connection, spec: &'static RowsSpec, start: Start) -> Result<(), Failure> {
    let mode: String = connection
        .query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))
        .doing("open the data file")?;
    if mode != "wal" {
        return Err(refused(format!("the data folder's file system lacks what SQLite's WAL needs ({mode})")));
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

/// Keeps the ids of rows that were removed before the table of removed ids existed.
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

/// Compares the file with the contract, and applies the differences that `start` permits.
fn compare(connection: &Connection, spec: &'static RowsSpec, start: Start) -> Result<(), Failure> {
    let found = standing(connection, spec)?;
    found.check(spec, start)?;
    if found.standing == SchemaDifference::Current {
        if found.version == spec.version || start == Start::Existing {
            return Ok(());
        }
        return set_version(connection, spec);
    }
    // A dropped table may be referenced by others that are dropped later.
    connection.execute_batch("PRAGMA foreign_keys = OFF").doing("migrate the tables")?;
    in_transaction(connection, || {
        // Another process may have done it meanwhile.
        let layout = meta(connection, "layout")?.unwrap_or_default();
        let layout: Layout = serde_json::from_str(&layout).map_err(damaged)?;
        let steps = layout.to(spec, Dialect::Sqlite);
        let indexes = steps.indexes.iter().map(|added| added.index.create());
        for sql in steps.sql.into_iter().chain(indexes).chain(steps.lossy_sql) {
            connection.execute_batch(&sql).doing("migrate the tables")?;
        }
        set_version(connection, spec)
    })?;
    connection.execute_batch("PRAGMA foreign_keys = ON").doing("migrate the tables")
}

/// Inspects the data file of a contract in `folder`, without changes.
///
/// # Errors
/// If there is no file, or it can't be read.
pub(crate) fn inspect(folder: &Path, spec: &RowsSpec) -> Result<Inspection, Failure> {
    let path = path(folder, spec);
    if !path.exists() {
        return Err(missing(&path));
    }
    standing(&connect(&path)?, spec)
}

/// Compares an open file with the contract.
fn standing(connection: &Connection, spec: &RowsSpec) -> Result<Inspection, Failure> {
    let format = ROWS.format(connection).doing("read the data file")?;
    if matches!(format, Format::Empty | Format::Foreign) {
        return Ok(Inspection::foreign(
            "the data file is of another program; choose another folder with `--data`".into(),
        ));
    }
    let described = Described {
        contract: meta(connection, "contract")?,
        version: meta(connection, "version")?.unwrap_or_default(),
        layout: meta(connection, "layout")?.unwrap_or_default(),
        is_newer: matches!(format, Format::Newer(_)),
    };
    inspection::standing(described, spec, Dialect::Sqlite)
}
