//! Named facts about a data file, in its table `meta`.

use rusqlite::{Connection, OptionalExtension as _, params};
use tabellion_runtime::Failure;

use crate::failures::Doing;

/// Sets a fact.
pub(crate) fn set_meta(connection: &Connection, name: &str, value: &str) -> Result<(), Failure> {
    let sql = "INSERT INTO meta VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value";
    connection.execute(sql, params![name, value]).doing("create the tables").map(drop)
}

/// Reads a fact.
pub(crate) fn meta(connection: &Connection, name: &str) -> Result<Option<String>, Failure> {
    let sql = "SELECT value FROM meta WHERE name = ?";
    let value = connection.query_row(sql, [name], |row| row.get(0));
    value.optional().doing("read the data file")
}
