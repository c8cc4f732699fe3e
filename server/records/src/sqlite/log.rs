//! The log: one entry for each change, from which the tables can be remade.

use rusqlite::{Connection, OptionalExtension as _, Row, params, params_from_iter};
use tabellion_runtime::Failure;

use crate::{
    entry::{COLUMNS, LogEntry},
    failures::Doing,
};

/// SQL of the log's table. `last` is the largest `seq` of a row so far.
pub(crate) const CREATE: [&str; 2] = [
    "CREATE TABLE change (
        seq INTEGER PRIMARY KEY, id TEXT NOT NULL, at INTEGER NOT NULL, tool TEXT NOT NULL, operation TEXT NOT NULL,
        rows TEXT NOT NULL, last INTEGER NOT NULL, org TEXT NOT NULL, caller TEXT, client TEXT, key TEXT, request TEXT,
        response TEXT, details TEXT) STRICT",
    "CREATE UNIQUE INDEX change_by_key ON change (org, key) WHERE key IS NOT NULL",
];

/// Adds an entry to the log.
pub(crate) fn insert(connection: &Connection, entry: &LogEntry) -> Result<(), Failure> {
    let sql = format!("INSERT INTO change ({COLUMNS}) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
    let values = entry.values()?;
    let mut statement = connection.prepare_cached(&sql).doing("write the log")?;
    statement.execute(params_from_iter(values)).doing("write the log").map(drop)
}

/// The end of the log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct End {
    /// Place of the last entry.
    pub(crate) seq: i64,
    /// The largest `seq` of a row.
    pub(crate) last: i64,
}

/// Reads the end of the log.
pub(crate) fn end(connection: &Connection) -> Result<End, Failure> {
    let sql = "SELECT seq, last FROM change ORDER BY seq DESC LIMIT 1";
    let mut statement = connection.prepare_cached(sql).doing("read the log")?;
    let end = statement.query_row([], |row| Ok(End { seq: row.get(0)?, last: row.get(1)? }));
    Ok(end.optional().doing("read the log")?.unwrap_or_default())
}

/// Reads the entry with an idempotency key of an org.
pub(crate) fn with_key(connection: &Connection, org: &str, key: &str) -> Result<Option<LogEntry>, Failure> {
    let sql = format!("SELECT {COLUMNS} FROM change WHERE org = ? AND key = ?");
    let mut statement = connection.prepare_cached(&sql).doing("read the log")?;
    let mut rows = statement.query([org, key]).doing("read the log")?;
    rows.next().doing("read the log")?.map(read).transpose()
}

/// Calls `each` with every entry in order.
pub(crate) fn for_each(
    connection: &Connection,
    each: impl FnMut(LogEntry) -> Result<(), Failure>,
) -> Result<u64, Failure> {
    for_each_after(connection, 0, u32::MAX, each)
}

/// Returns the id of the entry at a place.
pub(crate) fn id_at(connection: &Connection, at: i64) -> Result<Option<String>, Failure> {
    let mut statement =
        connection.prepare_cached("SELECT id FROM change WHERE seq = ?").doing("read the log")?;
    let id = statement.query_row([at], |row| row.get(0));
    id.optional().doing("read the log")
}

/// Calls `each` with at most `max` entries after a place, in order.
pub(crate) fn for_each_after(
    connection: &Connection,
    after: i64,
    max: u32,
    mut each: impl FnMut(LogEntry) -> Result<(), Failure>,
) -> Result<u64, Failure> {
    let sql = format!("SELECT {COLUMNS} FROM change WHERE seq > ? ORDER BY seq LIMIT ?");
    let mut statement = connection.prepare_cached(&sql).doing("read the log")?;
    let mut rows = statement.query(params![after, max]).doing("read the log")?;
    let mut count = 0;
    while let Some(row) = rows.next().doing("read the log")? {
        each(read(row)?)?;
        count += 1;
    }
    Ok(count)
}

fn read(row: &Row<'_>) -> Result<LogEntry, Failure> {
    let columns = || -> rusqlite::Result<_> {
        Ok((
            LogEntry {
                seq: row.get(0)?,
                id: row.get(1)?,
                at: row.get(2)?,
                tool: row.get(3)?,
                operation: row.get(4)?,
                last: row.get(6)?,
                org: row.get(7)?,
                caller: row.get(8)?,
                client: row.get(9)?,
                key: row.get(10)?,
                request: row.get(11)?,
                ..LogEntry::default()
            },
            row.get::<_, String>(5)?,
            row.get::<_, Option<String>>(12)?,
            row.get::<_, Option<String>>(13)?,
        ))
    };
    let (mut entry, rows, response, details) = columns().doing("read the log")?;
    entry.take(&rows, response.as_deref(), details.as_deref())?;
    Ok(entry)
}
