//! The log in PostgreSQL. An entry's place is drawn by the statement that adds it, which is sent together with the commit:
//! conflicting changes are logged in the order in which they took effect. Places of failed changes stay empty.

use rusqlite::types::Value as Sql;
use tabellion_runtime::Failure;
use tokio_postgres::{Error, Row as Columns};

use super::{connection::Link, failures::Fault};
use crate::{
    entry::{COLUMNS, LogEntry},
    failures::damaged,
    sql::Statement,
};

/// SQL of the log's table. `last` is the largest `seq` of a row that the entry's change added, 0 if there is none.
pub(crate) const CREATE: [&str; 2] = [
    "CREATE TABLE change (
        seq bigint PRIMARY KEY, id text COLLATE \"C\" NOT NULL UNIQUE, at bigint NOT NULL, tool text NOT NULL, operation text NOT NULL,
        rows text NOT NULL, last bigint NOT NULL, org text COLLATE \"C\" NOT NULL, caller text, client text, key text COLLATE \"C\",
        request text, response text, details text)",
    "CREATE UNIQUE INDEX change_by_key ON change (org, key) WHERE key IS NOT NULL",
];

/// Number of entries that are read at a time.
pub(crate) const PAGE: i64 = 1_000;

/// Returns the statement that draws a place and adds the entry there.
pub(crate) fn insert(entry: &LogEntry) -> Result<Statement, Failure> {
    Ok(Statement {
        sql: format!(
            "INSERT INTO change ({COLUMNS}) VALUES (nextval('change_seq'), $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)"
        ),
        values: entry.values()?.split_off(1),
    })
}

/// Returns the statement that selects the entry with an idempotency key of an org.
pub(crate) fn with_key(org: &str, key: &str) -> Statement {
    Statement {
        sql: format!("SELECT {COLUMNS} FROM change WHERE org = $1 AND key = $2"),
        values: vec![Sql::Text(org.into()), Sql::Text(key.into())],
    }
}

/// Reads at most `max` entries after a place, in order.
pub(crate) async fn after(link: &Link, after: i64, max: i64) -> Result<Vec<LogEntry>, Fault> {
    let found = link
        .query(&Statement {
            sql: format!("SELECT {COLUMNS} FROM change WHERE seq > $1 ORDER BY seq LIMIT $2"),
            values: vec![Sql::Integer(after), Sql::Integer(max)],
        })
        .await?;
    found.iter().map(read).collect::<Result<_, _>>().map_err(Fault::Failure)
}

/// Returns the place of the last visible entry; 0 if there is none.
pub(crate) async fn end(link: &Link) -> Result<i64, Fault> {
    let found = link.select("SELECT coalesce(max(seq), 0) FROM change").await?;
    Ok(found.last().and_then(|end| end.parse().ok()).unwrap_or_default())
}

/// Reads a selected entry.
pub(crate) fn read(columns: &Columns) -> Result<LogEntry, Failure> {
    let read = || -> Result<_, Error> {
        Ok((
            LogEntry {
                seq: columns.try_get(0)?,
                id: columns.try_get(1)?,
                at: columns.try_get(2)?,
                tool: columns.try_get(3)?,
                operation: columns.try_get(4)?,
                last: columns.try_get(6)?,
                org: columns.try_get(7)?,
                caller: columns.try_get(8)?,
                client: columns.try_get(9)?,
                key: columns.try_get(10)?,
                request: columns.try_get(11)?,
                ..LogEntry::default()
            },
            columns.try_get::<_, &str>(5)?,
            columns.try_get::<_, Option<&str>>(12)?,
            columns.try_get::<_, Option<&str>>(13)?,
        ))
    };
    let (mut entry, rows, response, details) = read().map_err(damaged)?;
    entry.take(rows, response, details)?;
    Ok(entry)
}
