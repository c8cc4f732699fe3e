//! A replica: the log replayed in an empty store, for comparison with a database.

use data_encoding::HEXLOWER;
use rusqlite::Connection;
use serde_json::Value;
use sha2::{Digest, Sha256};
use tabellion_runtime::{
    Failure, FailureKind, Row,
    rows::{Select, identity},
    spec::{EntitySpec, RowsSpec},
};
use tabellion_sqlite::temporary;

use super::{connection, log, query, tables, write::apply};
use crate::{
    entry::LogEntry,
    failures::{Doing, damaged},
    whole::{Checked, Line, Whole, text},
};

/// Checks that replaying the log on an empty store yields the tables, row for row.
///
/// # Errors
/// The difference.
pub(crate) fn check(whole: &dyn Whole, spec: &'static RowsSpec) -> Result<Checked, Failure> {
    let (replica, mut digest) = (Replica::new(spec)?, Sha256::new());
    let mut checked = Checked::NOTHING;
    whole.for_each_entry(&mut |entry| {
        checked.changes += 1;
        replica.take(&entry)?;
        digest.update(text(&Line::Change(Box::new(entry)))?);
        Ok(())
    })?;
    for entity in spec.entities {
        let before = checked.rows;
        whole.for_each_row(entity, |row| {
            checked.rows += 1;
            replica.compare(entity, &row)?;
            let entity = entity.name.into();
            digest.update(text(&Line::Row { entity, row })?);
            Ok(())
        })?;
        replica.compare_count(entity, checked.rows - before)?;
    }
    checked.digest = HEXLOWER.encode(&digest.finalize());
    Ok(checked)
}

/// Fills an empty store from the lines of an export: replays its log, and compares the result with its rows.
///
/// # Errors
/// If a line is not one of an export.
pub(crate) fn read_export(
    spec: &'static RowsSpec,
    lines: impl Iterator<Item = Result<Line, Failure>>,
    store: &Connection,
    take: impl Fn(&LogEntry) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let unlike = |message: String| Failure::new(FailureKind::Invalid, message);
    for line in lines {
        match line? {
            Line::Tabellion { .. } | Line::End { .. } => {
                return Err(unlike("an export has one first line".into()));
            }
            Line::Change(entry) => take(&entry)?,
            Line::Row { entity, row } => {
                let Some(entity) = spec.entity(&entity) else {
                    continue;
                };
                let found = query::get(store, entity, &identity(entity, &row))?.unwrap_or_default();
                if row
                    .iter()
                    .any(|(name, value)| entity.field(name).is_some() && found.get(name) != Some(value))
                {
                    let message = "the export can't be taken: its log gives another";
                    return Err(unlike(format!("{message} {} than its rows have", entity.name)));
                }
            }
        }
    }
    Ok(())
}

/// The replayed tables, in a private store that spills to the disk.
pub(crate) struct Replica {
    pub(crate) connection: Connection,
    pub(crate) spec: &'static RowsSpec,
}

impl Replica {
    /// Makes an empty replica.
    pub(crate) fn new(spec: &'static RowsSpec) -> Result<Self, Failure> {
        let connection = temporary().doing("replay the log")?;
        tables::create_tables(&connection, spec)?;
        Ok(Self { connection, spec })
    }

    /// Replays the log of an export, and compares the result with its rows.
    #[cfg(feature = "postgres")]
    pub(crate) fn read_export(
        &self,
        lines: impl Iterator<Item = Result<Line, Failure>>,
    ) -> Result<(), Failure> {
        connection::in_transaction(&self.connection, || {
            read_export(self.spec, lines, &self.connection, |entry| {
                log::insert(&self.connection, entry)?;
                replay(&self.connection, self.spec, entry)
            })
        })
    }

    /// Applies the change of an entry and keeps the entry, or neither.
    #[cfg(feature = "postgres")]
    pub(crate) fn keep(&self, entry: &LogEntry) -> Result<(), Failure> {
        connection::in_transaction(&self.connection, || {
            log::insert(&self.connection, entry)?;
            replay(&self.connection, self.spec, entry)
        })
    }

    /// Applies the change of an entry.
    pub(crate) fn take(&self, entry: &LogEntry) -> Result<(), Failure> {
        connection::in_transaction(&self.connection, || replay(&self.connection, self.spec, entry))
    }

    /// Compares a row with the replayed one.
    pub(crate) fn compare(&self, entity: &'static EntitySpec, row: &Row) -> Result<(), Failure> {
        let key = identity(entity, row);
        if query::get(&self.connection, entity, &key)?.as_ref() == Some(row) {
            return Ok(());
        }
        Err(differs(entity, key))
    }

    /// Compares the number of an entity's rows with the replayed number.
    pub(crate) fn compare_count(&self, entity: &'static EntitySpec, rows: u64) -> Result<(), Failure> {
        let replayed = query::count(&self.connection, &Select::new(entity, vec![]))?;
        if replayed == rows {
            return Ok(());
        }
        let name = entity.name;
        Err(damaged(format!("there are {rows} rows of {name}, and the log gives {replayed}")))
    }
}

impl Whole for Connection {
    fn for_each_entry(&self, each: &mut dyn FnMut(LogEntry) -> Result<(), Failure>) -> Result<(), Failure> {
        log::for_each(self, each).map(drop)
    }

    fn rows(&self, select: &Select) -> Result<Vec<Row>, Failure> {
        query::select_rows(self, select)
    }
}

pub(crate) fn replay(connection: &Connection, spec: &RowsSpec, entry: &LogEntry) -> Result<(), Failure> {
    let changed = entry.rows.iter().try_for_each(|row| apply(connection, spec, row));
    changed.map_err(|failure| Failure::internal(format!("entry {} of the log: {failure}", entry.seq)))
}

/// Returns the failure of a row that differs from the replayed one.
fn differs(entity: &EntitySpec, key: Vec<Value>) -> Failure {
    damaged(format!("{} {} is not what the log gives", entity.name, Value::from(key)))
}
