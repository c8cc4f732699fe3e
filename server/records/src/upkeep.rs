//! Upkeep of a data file: whether the log gives the tables, export and import, backup.

use std::{
    fs,
    io::{BufRead, Write},
    path::Path,
    time::Duration,
};

use rusqlite::{Connection, backup::Backup};
use serde::{Deserialize, Serialize};
use tabellion_platform::rename;
use tabellion_runtime::{
    Failure, FailureKind, Row,
    rows::{Order, Select},
    spec::{EntitySpec, RowsSpec},
};
use tabellion_sqlite::{ROWS, check, temporary};

use crate::{
    connection,
    failures::{Doing, at, damaged, refused},
    file,
    log::{self, LogEntry},
    mark, query,
    reading::Reader,
    records::Records,
    replacement, tables, usage,
    write::apply,
};

/// Number of rows that are compared at a time.
const PAGE: u64 = 1_000;
/// Number of pages that a backup copies at a time.
const BACKUP_PAGES: i32 = 1_000;

/// What a check has found in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checked {
    /// Number of entries of the log.
    pub changes: u64,
    /// Number of rows of all entities.
    pub rows: u64,
}

/// One line of an export.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    /// The first line.
    Tabellion { contract: String, version: String },
    /// An entry of the log.
    Change(Box<LogEntry>),
    /// A row as it is now.
    Row { entity: String, row: Row },
}

impl Records {
    /// Checks that the file is whole, and that replaying the log on an empty store gives the tables, row for row.
    ///
    /// # Errors
    /// What is damaged, or differs.
    pub fn check(&self) -> Result<Checked, Failure> {
        Reader::begin(self)?.with(|connection| {
            if let Some(problem) = check(connection).doing("check the data file")? {
                return Err(damaged(problem));
            }
            let replayed = empty(self.spec)?;
            let changes = log::for_each(connection, |entry| {
                connection::in_transaction(&replayed, || replay(&replayed, self.spec, &entry))
            })?;
            let rows = compare(self.spec, connection, &replayed)?;
            Ok(Checked { changes, rows })
        })
    }

    /// Writes the log and the rows as lines of JSON.
    ///
    /// # Errors
    /// If they can't be read or written.
    pub fn export(&self, to: &mut dyn Write) -> Result<(), Failure> {
        let header = Line::Tabellion {
            contract: self.spec.contract.into(),
            version: self.spec.version.into(),
        };
        write_line(to, &header)?;
        Reader::begin(self)?.with(|connection| {
            log::for_each(connection, |entry| write_line(to, &Line::Change(Box::new(entry))))?;
            for entity in self.spec.entities {
                each_page(connection, entity, |row| {
                    let entity = entity.name.into();
                    write_line(to, &Line::Row { entity, row })
                })?;
            }
            Ok(())
        })
    }

    /// Copies the data to a new file at `path`, while it is served.
    ///
    /// # Errors
    /// If there is a file already, or it can't be written.
    pub fn backup(&self, path: &Path) -> Result<(), Failure> {
        copy_to(&self.path, path)
    }
}

/// Copies the data file of a contract in `folder` to a new file at `path`, of whichever version it is: to be done before a
/// migration.
///
/// # Errors
/// If there is no data file, or a file at `path` already, or it can't be written.
pub fn backup(folder: &Path, spec: &RowsSpec, path: &Path) -> Result<(), Failure> {
    let from = connection::path(folder, spec);
    if !from.exists() {
        return Err(connection::missing(&from));
    }
    let _usage = usage::shared_if_possible(&from)?;
    copy_to(&from, path)
}

fn copy_to(from: &Path, path: &Path) -> Result<(), Failure> {
    if path.exists() {
        let message = format!("`{}` is there already; name a new file", path.display());
        return Err(refused(message));
    }
    let partial = path.with_extension("partial");
    tabellion_platform::create_own(&partial).map_err(at("create", &partial))?;
    let copied = copy(from, &partial).and_then(|()| {
        connection::sync(&partial)?;
        rename(&partial, path).map_err(at("create", path))?;
        let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        connection::sync(folder.unwrap_or(Path::new(".")))
    });
    if copied.is_err() {
        // The failure says more than that of cleaning up.
        let _ = fs::remove_file(&partial);
    }
    copied
}

fn copy(from: &Path, path: &Path) -> Result<(), Failure> {
    let from = connection::connect(from)?;
    let mut to = ROWS.connect(path).doing("write the backup")?;
    connection::moves_log_when_closed(&to, true)?;
    let backup = Backup::new(&from, &mut to).doing("write the backup")?;
    backup
        .run_to_completion(BACKUP_PAGES, Duration::ZERO, None)
        .doing("write the backup")?;
    drop(backup);
    mark::renew(&to)?;
    to.close().map_err(|(_, error)| error).doing("write the backup")
}

/// Makes a data file in `folder` from the lines of an export: from its log, compared with its rows.
///
/// # Errors
/// If the folder has a data file already, or a line is not what an export writes. Then no file is made.
pub fn import(folder: &Path, spec: &'static RowsSpec, from: &mut dyn BufRead) -> Result<Checked, Failure> {
    let path = connection::path(folder, spec);
    let is_free = || {
        if path.exists() || replacement::is_pending(&path) {
            let message = format!("`{}` is there already; name an empty folder", path.display());
            return Err(refused(message));
        }
        Ok(())
    };
    is_free()?;
    let mut count = 0;
    let mut lines = std::iter::from_fn(|| {
        count += 1;
        let mut line = String::new();
        match from.read_line(&mut line) {
            Ok(0) => None,
            Ok(_) => Some(serde_json::from_str::<Line>(&line).map_err(|error| {
                let message = format!("line {count} is not one of an export: {error}");
                Failure::new(FailureKind::Invalid, message)
            })),
            Err(error) => Some(Err(Failure::new(
                FailureKind::Io,
                format!("the export can't be read: {error}"),
            ))),
        }
    });
    match lines.next().transpose()? {
        Some(Line::Tabellion { contract, .. }) if contract == spec.contract => {}
        _ => {
            let message = format!("this is no export of the contract `{}`", spec.contract);
            return Err(Failure::new(FailureKind::Invalid, message));
        }
    }
    file::create_folder(folder).map_err(at("create", folder))?;
    let usage = usage::alone(&path)?;
    is_free()?;
    let (_, checked) = replacement::replace(&path, spec, &usage, |connection| {
        let mut checked = Checked { changes: 0, rows: 0 };
        for line in lines {
            match line? {
                Line::Tabellion { .. } => return Err(damaged("an export has one first line")),
                Line::Change(entry) => {
                    entry.insert(connection)?;
                    replay(connection, spec, &entry)?;
                    checked.changes += 1;
                }
                Line::Row { entity, row } => {
                    checked.rows += 1;
                    let Some(entity) = spec.entity(&entity) else {
                        continue;
                    };
                    let key = tabellion_runtime::rows::identity(entity, &row);
                    let found = query::get(connection, entity, &key)?.unwrap_or_default();
                    if row
                        .iter()
                        .any(|(name, value)| entity.field(name).is_some() && found.get(name) != Some(value))
                    {
                        return Err(damaged(format!(
                            "the log gives another {} than the export has",
                            entity.name
                        )));
                    }
                }
            }
        }
        Ok(checked)
    })?;
    Ok(checked)
}

/// Returns an empty store that nothing else sees, and that spills to the disk.
fn empty(spec: &RowsSpec) -> Result<Connection, Failure> {
    let connection = temporary().doing("replay the log")?;
    tables::create_tables(&connection, spec)?;
    Ok(connection)
}

pub(crate) fn replay(connection: &Connection, spec: &RowsSpec, entry: &LogEntry) -> Result<(), Failure> {
    let changed = entry.rows.iter().try_for_each(|row| apply(connection, spec, row));
    changed.map_err(|failure| Failure::internal(format!("entry {} of the log: {failure}", entry.seq)))
}

/// Compares the tables of two stores.
fn compare(spec: &RowsSpec, found: &Connection, expected: &Connection) -> Result<u64, Failure> {
    let mut count = 0;
    for entity in spec.entities {
        let mut rows = 0;
        each_page(found, entity, |row| {
            let key = tabellion_runtime::rows::identity(entity, &row);
            rows += 1;
            if query::get(expected, entity, &key)?.as_ref() == Some(&row) {
                return Ok(());
            }
            let key = serde_json::Value::from(key);
            Err(damaged(format!(
                "{} {key} is not what the log gives",
                entity.name
            )))
        })?;
        let replayed = query::count(expected, &Select::new(entity, vec![]))?;
        if replayed != rows {
            let name = entity.name;
            return Err(damaged(format!(
                "there are {rows} rows of {name}, and the log gives {replayed}"
            )));
        }
        count += rows;
    }
    Ok(count)
}

/// Calls `each` with every row of an entity.
fn each_page(
    connection: &Connection,
    entity: &'static EntitySpec,
    mut each: impl FnMut(Row) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut select = Select::new(entity, vec![]);
    select.limit = Some(PAGE);
    select.order = entity.identity().map(|name| (name, Order::Up)).collect();
    loop {
        let rows = query::select_rows(connection, &select)?;
        let Some(last) = rows.last().cloned() else {
            return Ok(());
        };
        select.after = Some(last);
        rows.into_iter().try_for_each(&mut each)?;
    }
}

fn write_line(to: &mut dyn Write, line: &Line) -> Result<(), Failure> {
    let mut text = serde_json::to_string(line).map_err(damaged)?;
    text.push('\n');
    to.write_all(text.as_bytes())
        .map_err(|error| Failure::new(FailureKind::Io, format!("the export can't be written: {error}")))
}
