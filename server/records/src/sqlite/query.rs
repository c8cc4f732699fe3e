//! Reading rows from a connection.

use rusqlite::{Connection, params_from_iter};
use serde_json::Value;
use tabellion_runtime::{Failure, Row, rows::Select, spec::EntitySpec};

use super::codec::read_row;
use crate::{
    failures::Doing,
    sql::{Dialect::Sqlite, of_identity},
};

/// Reads the row with this identity.
pub(crate) fn get(
    connection: &Connection,
    entity: &'static EntitySpec,
    key: &[Value],
) -> Result<Option<Row>, Failure> {
    Ok(select_rows(connection, &of_identity(entity, key))?.pop())
}

/// Returns true if a row with this identity was removed.
pub(crate) fn was_removed(
    connection: &Connection,
    entity: &EntitySpec,
    key: &[Value],
) -> Result<bool, Failure> {
    let asked = Sqlite.was_removed(entity, key);
    let mut statement = connection.prepare_cached(&asked.sql).doing("read rows")?;
    let found = statement.query_row(params_from_iter(asked.values), |row| row.get(0));
    found.doing("read rows")
}

/// Reads the selected rows.
pub(crate) fn select_rows(connection: &Connection, select: &Select) -> Result<Vec<Row>, Failure> {
    let asked = Sqlite.select(select)?;
    let mut statement = connection.prepare_cached(&asked.sql).doing("read rows")?;
    let mut rows = statement.query(params_from_iter(asked.values)).doing("read rows")?;
    let mut found = vec![];
    while let Some(row) = rows.next().doing("read rows")? {
        found.push(read_row(select.entity, row)?);
    }
    Ok(found)
}

/// Counts the rows that pass the filters.
pub(crate) fn count(connection: &Connection, select: &Select) -> Result<u64, Failure> {
    let asked = Sqlite.count(select)?;
    let mut statement = connection.prepare_cached(&asked.sql).doing("count rows")?;
    let count: i64 =
        statement.query_row(params_from_iter(asked.values), |row| row.get(0)).doing("count rows")?;
    Ok(count.unsigned_abs())
}
