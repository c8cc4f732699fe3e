//! The log: one entry for each change, from which the tables can be made anew.

use rusqlite::{Connection, OptionalExtension as _, Row, params};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tabellion_runtime::Failure;

use crate::{
    failures::{Doing, damaged},
    write::LoggedRow,
};

/// SQL of the log's table. `last` is the largest `seq` of a row so far.
pub(crate) const CREATE: [&str; 2] = [
    "CREATE TABLE change (
        seq INTEGER PRIMARY KEY, id TEXT NOT NULL, at INTEGER NOT NULL, tool TEXT NOT NULL, operation TEXT NOT NULL,
        rows TEXT NOT NULL, last INTEGER NOT NULL, org TEXT NOT NULL, caller TEXT, client TEXT, key TEXT, request TEXT,
        response TEXT, details TEXT) STRICT",
    "CREATE UNIQUE INDEX change_by_key ON change (org, key) WHERE key IS NOT NULL",
];

const COLUMNS: &str =
    "seq, id, at, tool, operation, rows, last, org, caller, client, key, request, response, details";

/// One entry of the log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct LogEntry {
    /// Its place, from 1.
    pub(crate) seq: i64,
    /// Its id (UUIDv7), which the caller received.
    pub(crate) id: String,
    /// Its time, in seconds of Unix time.
    pub(crate) at: i64,
    /// Label of the tool or operation that was called.
    pub(crate) tool: String,
    /// The operation, in one word.
    pub(crate) operation: String,
    /// The changed rows.
    pub(crate) rows: Vec<LoggedRow>,
    /// The largest `seq` of a row so far.
    pub(crate) last: i64,
    /// The org that the caller is bound to, or nothing.
    pub(crate) org: String,
    /// The caller: name and e-mail address, then the identity, as far as they are known.
    pub(crate) caller: Option<String>,
    /// The client's name and version.
    pub(crate) client: Option<String>,
    /// The idempotency key, as it is kept.
    pub(crate) key: Option<String>,
    /// Digest of the request, if there is a key.
    pub(crate) request: Option<String>,
    /// The answer without its secrets, if there is a key.
    pub(crate) response: Option<Value>,
    /// Details that the tool added.
    pub(crate) details: Map<String, Value>,
}

impl LogEntry {
    /// Adds the entry to the log.
    pub(crate) fn insert(&self, connection: &Connection) -> Result<(), Failure> {
        let sql = format!("INSERT INTO change ({COLUMNS}) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
        let rows = serde_json::to_string(&self.rows).map_err(damaged)?;
        let details = (!self.details.is_empty()).then(|| Value::from(self.details.clone()).to_string());
        let mut statement = connection.prepare_cached(&sql).doing("write the log")?;
        let inserted = statement.execute(params![
            self.seq,
            self.id,
            self.at,
            self.tool,
            self.operation,
            rows,
            self.last,
            self.org,
            self.caller,
            self.client,
            self.key,
            self.request,
            self.response.as_ref().map(Value::to_string),
            details,
        ]);
        inserted.doing("write the log").map(drop)
    }
}

/// The end of the log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct End {
    /// Place of the last entry.
    pub(crate) seq: i64,
    /// The largest `seq` of a row.
    pub(crate) last: i64,
}

/// Reads where the log ends.
pub(crate) fn end(connection: &Connection) -> Result<End, Failure> {
    let sql = "SELECT seq, last FROM change ORDER BY seq DESC LIMIT 1";
    let mut statement = connection.prepare_cached(sql).doing("read the log")?;
    let end = statement.query_row([], |row| {
        Ok(End {
            seq: row.get(0)?,
            last: row.get(1)?,
        })
    });
    Ok(end.optional().doing("read the log")?.unwrap_or_default())
}

/// Returns the number of entries.
pub(crate) fn count(connection: &Connection) -> Result<u64, Failure> {
    let sql = "SELECT count(*) FROM change";
    let count: i64 = connection
        .query_row(sql, [], |row| row.get(0))
        .doing("read the log")?;
    Ok(count.unsigned_abs())
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
    let mut statement = connection
        .prepare_cached("SELECT id FROM change WHERE seq = ?")
        .doing("read the log")?;
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
                rows: vec![],
                last: row.get(6)?,
                org: row.get(7)?,
                caller: row.get(8)?,
                client: row.get(9)?,
                key: row.get(10)?,
                request: row.get(11)?,
                response: None,
                details: Map::new(),
            },
            row.get::<_, String>(5)?,
            row.get::<_, Option<String>>(12)?,
            row.get::<_, Option<String>>(13)?,
        ))
    };
    let (mut entry, rows, response, details) = columns().doing("read the log")?;
    let wrong = |error: serde_json::Error| damaged(format!("entry {} of the log: {error}", entry.seq));
    entry.rows = serde_json::from_str(&rows).map_err(wrong)?;
    entry.response = response
        .map(|text| serde_json::from_str(&text))
        .transpose()
        .map_err(wrong)?;
    let details = details
        .map(|text| serde_json::from_str(&text))
        .transpose()
        .map_err(wrong)?;
    entry.details = details.unwrap_or_default();
    Ok(entry)
}
