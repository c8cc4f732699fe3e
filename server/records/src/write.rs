//! Changing rows: what a change does to the tables, and what the log says of it.

use rusqlite::{Connection, params_from_iter, types::Value as Sql};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tabellion_runtime::{
    Failure, FailureKind, Row, RowEdit, RowsChange,
    rows::identity,
    spec::{EntitySpec, RowsSpec},
};

use crate::{
    codec::to_sql,
    failures::{Doing, damaged},
    layout::{default, quoted},
    query::{field, get},
};

/// SQL of the table of the ids that removed rows had.
pub(crate) const REMOVED: &str =
    "CREATE TABLE removed (entity TEXT, key TEXT, PRIMARY KEY (entity, key)) STRICT, WITHOUT ROWID";

/// What the log says of one row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct LoggedRow {
    /// Name of the entity.
    pub(crate) entity: String,
    /// The identifying fields.
    pub(crate) key: Row,
    /// The fields that changed, as they were; all fields if the row was removed, none if it was added.
    pub(crate) before: Option<Row>,
    /// The fields that changed, as they are; all fields if the row was added, none if it was removed.
    pub(crate) after: Option<Row>,
}

/// A changed row, before and after.
pub(crate) struct Written {
    pub(crate) before: Option<Row>,
    pub(crate) after: Option<Row>,
    pub(crate) logged: LoggedRow,
}

/// Makes a change in the tables.
///
/// # Errors
/// If a row is not there, or is there already, or a table's rule is broken.
pub(crate) fn write(connection: &Connection, change: &RowsChange) -> Result<Vec<Written>, Failure> {
    let mut written = vec![];
    for change in change.rows() {
        let entity = change.entity;
        let before = get(connection, entity, &change.key)?;
        let is_there = before.is_some();
        if is_there == matches!(change.edit, RowEdit::Insert(_)) {
            let state = if is_there {
                "is there already"
            } else {
                "is not there"
            };
            return Err(Failure::new(
                FailureKind::Conflict,
                format!("{} {state}", change.name()),
            ));
        }
        let (logged_before, logged_after, after) = match &change.edit {
            RowEdit::Insert(row) => {
                insert(connection, entity, row)?;
                (None, Some(row.clone()), Some(row.clone()))
            }
            RowEdit::Patch(set) => {
                patch(connection, entity, &change.key, set)?;
                let mut after = before.clone().unwrap_or_default();
                let old = |name: &String| after.get(name).cloned().unwrap_or_default();
                let replaced = set.keys().map(|name| (name.clone(), old(name))).collect();
                for (name, value) in set {
                    after.insert(name.clone(), value.clone());
                }
                (Some(replaced), Some(set.clone()), Some(after))
            }
            RowEdit::Remove => {
                remove(connection, entity, &change.key)?;
                (before.clone(), None, None)
            }
        };
        let names = entity.identity().map(String::from);
        written.push(Written {
            before,
            after,
            logged: LoggedRow {
                entity: entity.name.into(),
                key: names.zip(change.key.iter().cloned()).collect(),
                before: logged_before,
                after: logged_after,
            },
        });
    }
    Ok(written)
}

/// Makes a logged change in the tables. Entities and fields that the contract no longer has are left out, and fields that it did not
/// have get their defaults.
///
/// # Errors
/// If the tables are not those that the change was made in.
pub(crate) fn apply(connection: &Connection, spec: &RowsSpec, logged: &LoggedRow) -> Result<(), Failure> {
    let Some(entity) = spec.entity(&logged.entity) else {
        return Ok(());
    };
    let key = identity(entity, &logged.key);
    let found = get(connection, entity, &key)?;
    let is_as_before = match (&found, &logged.before) {
        (None, None) => true,
        (Some(found), Some(before)) => before
            .iter()
            .all(|(name, value)| entity.field(name).is_none() || found.get(name) == Some(value)),
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
    let fields: Vec<_> = entity.fields.iter().map(|field| quoted(field.name)).collect();
    let sql = format!(
        "INSERT INTO {} ({}) VALUES ({})",
        quoted(entity.table),
        fields.join(", "),
        vec!["?"; fields.len()].join(", ")
    );
    let value = |name: &str| row.get(name).cloned().unwrap_or_default();
    let values = entity
        .fields
        .iter()
        .map(|field| to_sql(field, &value(field.name)));
    run(connection, &sql, values.collect())
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
    let mut values = vec![];
    let mut assignments = vec![];
    for (name, value) in set {
        let field = field(entity, name)?;
        assignments.push(format!("{} = ?", quoted(field.name)));
        values.push(to_sql(field, value));
    }
    let filter = of_key(entity, key, &mut values)?;
    let sql = format!(
        "UPDATE {} SET {} WHERE {filter}",
        quoted(entity.table),
        assignments.join(", ")
    );
    run(connection, &sql, values)
}

fn remove(connection: &Connection, entity: &'static EntitySpec, key: &[Value]) -> Result<(), Failure> {
    let mut values = vec![];
    let filter = of_key(entity, key, &mut values)?;
    let sql = format!("DELETE FROM {} WHERE {filter}", quoted(entity.table));
    run(connection, &sql, values)?;
    if entity.has_id() {
        keep_id(connection, entity.name, key)?;
    }
    Ok(())
}

/// Keeps the id of a removed row, so that no other row gets it.
pub(crate) fn keep_id(connection: &Connection, entity: &str, key: &[Value]) -> Result<(), Failure> {
    let sql = "INSERT INTO removed VALUES (?, ?) ON CONFLICT DO NOTHING";
    let mut statement = connection.prepare_cached(sql).doing("change a row")?;
    let kept = statement.execute([entity, &Value::from(key).to_string()]);
    kept.doing("change a row").map(drop)
}

fn of_key(entity: &'static EntitySpec, key: &[Value], values: &mut Vec<Sql>) -> Result<String, Failure> {
    let mut tests = vec![];
    for (name, value) in entity.identity().zip(key) {
        tests.push(format!("{} = ?", quoted(name)));
        values.push(to_sql(field(entity, name)?, value));
    }
    Ok(tests.join(" AND "))
}

/// Runs a statement that changes exactly one row.
fn run(connection: &Connection, sql: &str, values: Vec<Sql>) -> Result<(), Failure> {
    let mut statement = connection.prepare_cached(sql).doing("change a row")?;
    let changed = statement
        .execute(params_from_iter(values))
        .doing("change a row")?;
    if changed == 1 {
        return Ok(());
    }
    Err(damaged(format!("a change of one row changed {changed}")))
}
