//! Changing rows: applies a change to the tables, and describes it for the log.

use rusqlite::{Connection, params_from_iter};
use serde_json::Value;
use tabellion_runtime::{
    Failure, Row, RowEdit, RowsChange,
    rows::identity,
    spec::{EntitySpec, RowsSpec},
};

use super::query::get;
use crate::{
    entry::{LoggedRow, Written, changed_one},
    failures::{Doing, damaged},
    layout::default,
    sql::{Dialect::Sqlite, Statement},
};

/// SQL of the table of ids of removed rows.
pub(crate) const REMOVED: &str =
    "CREATE TABLE removed (entity TEXT, key TEXT, PRIMARY KEY (entity, key)) STRICT, WITHOUT ROWID";

/// Applies a change to the tables.
///
/// # Errors
/// If a row is missing or exists already, or a table's rule is broken.
pub(crate) fn write(connection: &Connection, change: &RowsChange) -> Result<Vec<Written>, Failure> {
    let mut written = vec![];
    for change in change.rows() {
        let (entity, key) = (change.entity, &change.key);
        let before = get(connection, entity, key)?;
        written.push(Written::new(change, before)?);
        match &change.edit {
            RowEdit::Insert(row) => insert(connection, entity, row)?,
            RowEdit::Patch(set) => patch(connection, entity, key, set)?,
            RowEdit::Remove => remove(connection, entity, key)?,
        }
    }
    Ok(written)
}

/// Applies a logged change to the tables. Drops entities and fields that the contract no longer has; newer fields get their defaults.
///
/// # Errors
/// If the tables are not in the state that the change was made in.
pub(crate) fn apply(connection: &Connection, spec: &RowsSpec, logged: &LoggedRow) -> Result<(), Failure> {
    let Some(entity) = spec.entity(&logged.entity) else {
        return Ok(());
    };
    let key = identity(entity, &logged.key);
    let found = get(connection, entity, &key)?;
    let is_as_before = match (&found, &logged.before) {
        (None, None) => true,
        (Some(found), Some(before)) => {
            before.iter().all(|(name, value)| entity.field(name).is_none() || found.get(name) == Some(value))
        }
        _ => false,
    };
    if !is_as_before {
        let key = Value::from(key);
        return Err(damaged(format!(
            "the log changes {} {key}, which is not as it was before that change",
            entity.name
        )));
    }
    match (&logged.before, &logged.after) {
        (None, Some(after)) => {
            let mut row = Row::new();
            for field in entity.fields {
                let value = after.get(field.name).cloned();
                let value = value.or_else(|| default(field)).unwrap_or_default();
                row.insert(field.name.into(), value);
            }
            insert(connection, entity, &row)
        }
        (Some(_), Some(after)) => {
            let known = after.iter().filter(|(name, _)| entity.field(name).is_some());
            let known = known.map(|(name, value)| (name.clone(), value.clone()));
            patch(connection, entity, &key, &known.collect())
        }
        (_, None) => remove(connection, entity, &key),
    }
}

fn insert(connection: &Connection, entity: &'static EntitySpec, row: &Row) -> Result<(), Failure> {
    run(connection, Sqlite.insert(entity, row))
}

fn patch(
    connection: &Connection,
    entity: &'static EntitySpec,
    key: &[Value],
    set: &Row,
) -> Result<(), Failure> {
    if set.is_empty() {
        return Ok(());
    }
    run(connection, Sqlite.patch(entity, key, set)?)
}

fn remove(connection: &Connection, entity: &'static EntitySpec, key: &[Value]) -> Result<(), Failure> {
    run(connection, Sqlite.remove(entity, key)?)?;
    if entity.has_id() {
        keep_id(connection, entity.name, key)?;
    }
    Ok(())
}

/// Keeps the id of a removed row: no other row gets it.
pub(crate) fn keep_id(connection: &Connection, entity: &str, key: &[Value]) -> Result<(), Failure> {
    let asked = Sqlite.keep_id(entity, key);
    let mut statement = connection.prepare_cached(&asked.sql).doing("change a row")?;
    let kept = statement.execute(params_from_iter(asked.values));
    kept.doing("change a row").map(drop)
}

/// Runs a statement that changes exactly one row.
fn run(connection: &Connection, asked: Statement) -> Result<(), Failure> {
    let mut statement = connection.prepare_cached(&asked.sql).doing("change a row")?;
    let changed = statement.execute(params_from_iter(asked.values)).doing("change a row")?;
    changed_one(changed as u64)
}
