//! Reads rows and log from an SQLite file, with the suite's own SQLite, while the server runs or after it.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{Connection, OpenFlags, types::ValueRef};
use serde_json::{Number, Value};
use tabellion_runtime::spec::{EntitySpec, FieldSpec, FieldType, RowsSpec};

use super::rows::{Entry, Row, RowLedger, Tables};
use crate::watcher;

/// Maximum time to wait for a writer.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
/// The log's column of details other than the changed rows.
pub(super) const DETAILS: &str = "details";
/// Endings of the additional files of a database.
const BESIDE: [&str; 2] = ["-wal", "-journal"];

/// Queries that read a server's rows and log, where its tables are not the contract's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Queries {
    /// For an entity: a query whose columns are the fields.
    pub rows: BTreeMap<String, String>,
    /// A query for the entries of the log, oldest first, with the columns `id` and `rows`.
    pub log: Option<String>,
}

/// Reads the database at `path` in one snapshot; `None` if there is no file, or it is still empty.
///
/// # Errors
/// If it is not a database, or lacks a table or a column.
pub(super) fn read(path: &Path, spec: &RowsSpec, queries: &Queries) -> Result<Option<RowLedger>, String> {
    if !path.is_file() {
        return Ok(None);
    }
    let beside = open(path).and_then(|connection| read_from(&connection, spec, queries));
    let read = match beside {
        // A killed server's transaction may have to be undone first, which is up to the server: it is done in a copy.
        Err(error) if needs_writing(&error) => of_copy(path, spec, queries)?,
        read => read,
    };
    read.map_err(|error| format!("`{}`: {error}", path.display()))
}

fn needs_writing(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{CannotOpen, ReadOnly};
    matches!(error.sqlite_error_code(), Some(ReadOnly | CannotOpen))
}

fn open(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    Ok(connection)
}

fn of_copy(
    path: &Path,
    spec: &RowsSpec,
    queries: &Queries,
) -> Result<rusqlite::Result<Option<RowLedger>>, String> {
    let copied = || -> io::Result<_> {
        let folder = watcher::folder()?;
        let copy = folder.path().join("copy.db");
        fs::copy(path, &copy)?;
        for ending in BESIDE {
            let of = with_ending(path, ending);
            if of.is_file() {
                fs::copy(of, with_ending(&copy, ending))?;
            }
        }
        Ok((folder, copy))
    };
    let (_folder, copy) = copied().map_err(|error| format!("`{}`: {error}", path.display()))?;
    Ok(Connection::open(copy).and_then(|connection| read_from(&connection, spec, queries)))
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

fn read_from(
    connection: &Connection,
    spec: &RowsSpec,
    queries: &Queries,
) -> rusqlite::Result<Option<RowLedger>> {
    connection.execute_batch("BEGIN")?;
    let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if tables == 0 {
        return Ok(None);
    }
    let mut tables = Tables::default();
    for entity in spec.entities {
        let query = queries.rows.get(entity.name).cloned();
        let query = query.unwrap_or_else(|| select(entity));
        let mut statement = connection.prepare(&query)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let mut read = Row::new();
            for field in entity.fields {
                read.insert(field.name.to_owned(), value(field, row.get_ref(field.name)?));
            }
            tables.put(entity, read);
        }
    }
    // A server whose rows are read by queries may have no log at all.
    let log = match (&queries.log, queries.rows.is_empty()) {
        (Some(query), _) => Some(entries(connection, query)?),
        (None, true) => Some(entries(connection, "SELECT * FROM change ORDER BY seq")?),
        (None, false) => None,
    };
    Ok(Some(RowLedger { tables, log }))
}

fn entries(connection: &Connection, query: &str) -> rusqlite::Result<Vec<Entry>> {
    let mut statement = connection.prepare(query)?;
    let entries = statement.query_map([], |row| {
        let rows: String = row.get("rows")?;
        let rows = serde_json::from_str(&rows).map_err(|error| {
            rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Text, Box::new(error))
        })?;
        // A log without provenance has no details.
        let details = row.get::<_, Option<String>>(DETAILS).ok().flatten();
        let details = details.and_then(|details| serde_json::from_str::<Value>(&details).ok());
        Ok(Entry {
            id: row.get("id")?,
            rows,
            other: details.map(|details| (DETAILS.to_owned(), details)).into_iter().collect(),
        })
    })?;
    entries.collect()
}

/// Returns the query for the rows of an entity.
pub(super) fn select(entity: &EntitySpec) -> String {
    let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
    let names: Vec<_> = entity.fields.iter().map(|field| quoted(field.name)).collect();
    format!("SELECT {} FROM {}", names.join(", "), quoted(entity.table))
}

/// Returns a column's value in the field's type; one of another type stays as it is, for the comparison to show.
fn value(field: &FieldSpec, value: ValueRef<'_>) -> Value {
    match (field.kind, value) {
        (_, ValueRef::Null) => Value::Null,
        (FieldType::Boolean, ValueRef::Integer(number @ (0 | 1))) => (number == 1).into(),
        (_, ValueRef::Integer(number)) => number.into(),
        (_, ValueRef::Real(number)) => Number::from_f64(number).map_or(Value::Null, Value::Number),
        (kind, ValueRef::Text(text) | ValueRef::Blob(text)) => {
            let is_json = matches!(kind, FieldType::Json | FieldType::List { .. });
            let parsed = is_json.then(|| serde_json::from_slice(text).ok()).flatten();
            parsed.unwrap_or_else(|| String::from_utf8_lossy(text).into())
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ledger::rows::tests::{PAGE, row};

    static SPEC: RowsSpec = RowsSpec { contract: "pages", entities: &[PAGE], ..RowsSpec::EMPTY };

    const TABLES: &str = "
        CREATE TABLE pages (id TEXT, org_id TEXT, title TEXT, weight REAL, count INTEGER, pinned INTEGER, extra TEXT);
        CREATE TABLE change (seq INTEGER PRIMARY KEY, id TEXT, rows TEXT);
        INSERT INTO pages VALUES ('a', 'o', 'T', 1.5, 2, 0, '{\"a\":[1]}');
        INSERT INTO change VALUES (2, 'second', '[]'), (1, 'first', '[]');";

    fn file(options: &str) -> (tempfile::TempDir, PathBuf, Connection) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x.db");
        let connection = Connection::open(&path).expect("a database");
        connection.execute_batch(options).expect("options");
        connection.execute_batch(TABLES).expect("tables");
        (folder, path, connection)
    }

    #[test]
    fn a_file_is_read_beside_its_writer() {
        for options in ["PRAGMA journal_mode = WAL", "PRAGMA journal_mode = DELETE"] {
            let (_folder, path, writer) = file(options);
            writer.execute_batch("BEGIN IMMEDIATE").expect("a transaction");
            let ledger = read(&path, &SPEC, &Queries::default()).expect("a file").expect("rows");
            let found: Vec<_> = ledger.tables.rows("page").cloned().collect();
            assert_eq!(found, [row("a", &json!({ "extra": { "a": [1] } }))]);
            let ids: Vec<_> = ledger.log.expect("a log").into_iter().map(|entry| entry.id).collect();
            assert_eq!(ids, ["first", "second"]);
        }
    }

    #[test]
    fn an_interrupted_transaction_is_undone_in_a_copy() {
        let (folder, path, writer) = file("PRAGMA journal_mode = DELETE");
        // A killed writer leaves a journal that is not empty and has no owner.
        writer
            .execute_batch("PRAGMA cache_size = 1; BEGIN IMMEDIATE; UPDATE pages SET title = 'U'")
            .expect("a transaction");
        writer.cache_flush().expect("a flush");
        let left = folder.path().join("left.db");
        fs::copy(&path, &left).expect("a copy");
        fs::copy(with_ending(&path, "-journal"), with_ending(&left, "-journal")).expect("a copy");
        drop(writer);
        let before = fs::read(&left).expect("bytes");
        let ledger = read(&left, &SPEC, &Queries::default()).expect("a file").expect("rows");
        assert_eq!(ledger.tables.rows("page").next().expect("a row")["title"], "T");
        assert_eq!(fs::read(&left).expect("bytes"), before);
    }

    #[test]
    fn queries_say_where_rows_are() {
        let (_folder, path, _writer) = file("");
        let query =
            "SELECT id, org_id, upper(title) || '!' AS title, weight, count, pinned, extra FROM pages";
        let queries = Queries { rows: [("page".to_owned(), query.to_owned())].into(), log: None };
        let ledger = read(&path, &SPEC, &queries).expect("a file").expect("rows");
        assert_eq!(ledger.tables.rows("page").next().expect("a row")["title"], "T!");
        assert_eq!(ledger.log, None);
        let missing =
            Queries { rows: [("page".to_owned(), "SELECT id FROM pages".to_owned())].into(), log: None };
        let why = read(&path, &SPEC, &missing).expect_err("a column is missing");
        assert!(why.contains("org_id"), "{why}");
        assert_eq!(read(&path.with_file_name("none.db"), &SPEC, &queries), Ok(None));
    }
}
