//! The tables of a new file.

use rusqlite::Connection;
use tabellion_runtime::{Failure, spec::RowsSpec};
use tabellion_sqlite::ROWS;

use super::{connection::in_transaction, log, mark, meta::set_meta, write::REMOVED};
use crate::{
    failures::{Doing, damaged},
    layout::{self, Layout},
    sql::Dialect,
};

/// Creates the tables of an empty file, in one transaction.
pub(crate) fn create(connection: &Connection, spec: &RowsSpec) -> Result<(), Failure> {
    in_transaction(connection, || {
        create_tables(connection, spec)?;
        mark::renew(connection)?;
        ROWS.set_format(connection).doing("create the tables")
    })
}

/// Creates the store's own tables and those of the entities.
pub(crate) fn create_tables(connection: &Connection, spec: &RowsSpec) -> Result<(), Failure> {
    let own =
        ["CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID", REMOVED];
    let entities = spec.entities.iter().flat_map(|entity| layout::create(spec, entity, Dialect::Sqlite));
    for sql in own.iter().chain(&log::CREATE).map(|sql| (*sql).to_owned()).chain(entities) {
        connection.execute_batch(&sql).doing("create the tables")?;
    }
    set_meta(connection, "contract", spec.contract)?;
    set_meta(connection, "undone", "0")?;
    set_version(connection, spec)
}

pub(crate) fn set_version(connection: &Connection, spec: &RowsSpec) -> Result<(), Failure> {
    let layout = serde_json::to_string(&Layout::from_spec(spec, Dialect::Sqlite)).map_err(damaged)?;
    set_meta(connection, "version", spec.version)?;
    set_meta(connection, "layout", &layout)
}
