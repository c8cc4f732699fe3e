//! Reads rows and log from PostgreSQL, by the suite's own connection. Each case has its own database.

use std::path::Path;

use data_encoding::HEXLOWER;
use postgres::{Client, NoTls, SimpleQueryMessage, SimpleQueryRow, error::SqlState};
use serde_json::Value;
use sha2::{Digest, Sha256};
use tabellion_runtime::spec::{EntitySpec, FieldSpec, FieldType, RowsSpec};

use super::{
    rows::{Entry, Row, RowLedger, Tables},
    sqlite::{DETAILS, Queries, select},
};

/// Returns the address of a case's database on a server, `postgres://USER@HOST:PORT`. `data` is the folder of the case.
pub(crate) fn address(server: &str, data: &Path) -> String {
    format!("{server}/{}", name(data))
}

fn name(data: &Path) -> String {
    let digest = Sha256::digest(data.as_os_str().as_encoded_bytes());
    format!("suite_{}", HEXLOWER.encode(&digest[..8]))
}

/// Makes a case's database, unless it is there.
pub(crate) fn make(server: &str, data: &Path) -> Result<(), String> {
    let wrong = |error: postgres::Error| format!("`{server}`: {error}");
    let mut client = Client::connect(&format!("{server}/postgres"), NoTls).map_err(wrong)?;
    match client.batch_execute(&format!("CREATE DATABASE {}", name(data))) {
        Err(error) if error.code() == Some(&SqlState::DUPLICATE_DATABASE) => Ok(()),
        made => made.map_err(wrong),
    }
}

/// Reads a case's database in one snapshot; `None` if it is still empty. The tables are those of the schema that has a table
/// `change`, the log.
///
/// # Errors
/// If it can't be read, or lacks a table or a column.
pub(super) fn read(
    server: &str,
    data: &Path,
    spec: &RowsSpec,
    queries: &Queries,
) -> Result<Option<RowLedger>, String> {
    let address = address(server, data);
    let wrong = |error: postgres::Error| format!("`{address}`: {error}");
    let mut client = match Client::connect(&address, NoTls) {
        Err(error) if error.code() == Some(&SqlState::INVALID_CATALOG_NAME) => return Ok(None),
        connected => connected.map_err(wrong)?,
    };
    let read = read_from(&mut client, spec, queries);
    read.map_err(|error| format!("`{address}`: {error}"))
}

fn read_from(client: &mut Client, spec: &RowsSpec, queries: &Queries) -> Result<Option<RowLedger>, String> {
    let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; \
        SELECT set_config('search_path', quote_ident(schemaname), true) FROM pg_tables WHERE tablename = 'change'";
    if rows(client, begin)?.is_empty() && queries.rows.is_empty() {
        return Ok(None);
    }
    let mut tables = Tables::default();
    for entity in spec.entities {
        let query = queries.rows.get(entity.name).cloned();
        for row in rows(client, &query.unwrap_or_else(|| select(entity)))? {
            tables.put(entity, of_entity(entity, &row)?);
        }
    }
    let log = match (&queries.log, queries.rows.is_empty()) {
        (Some(query), _) => Some(entries(client, query)?),
        (None, true) => Some(entries(client, "SELECT * FROM change ORDER BY seq")?),
        (None, false) => None,
    };
    Ok(Some(RowLedger { tables, log }))
}

fn rows(client: &mut Client, query: &str) -> Result<Vec<SimpleQueryRow>, String> {
    let messages = client.simple_query(query).map_err(|error| error.to_string())?;
    let rows = messages.into_iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(row),
        _ => None,
    });
    Ok(rows.collect())
}

fn of_entity(entity: &EntitySpec, row: &SimpleQueryRow) -> Result<Row, String> {
    let mut read = Row::new();
    for field in entity.fields {
        let text = row.try_get(field.name).map_err(|error| error.to_string())?;
        read.insert(field.name.to_owned(), text.map_or(Value::Null, |text| value(field, text)));
    }
    Ok(read)
}

/// Returns a column's value in the field's type; one of another type stays a text, for the comparison to show.
fn value(field: &FieldSpec, text: &str) -> Value {
    let parsed = match field.kind {
        FieldType::Boolean => match text {
            "t" => Some(true.into()),
            "f" => Some(false.into()),
            _ => None,
        },
        FieldType::Number => text.parse::<f64>().ok().map(Value::from),
        FieldType::Integer { .. }
        | FieldType::Time
        | FieldType::Now(_)
        | FieldType::Next(_)
        | FieldType::Seq => text.parse::<i64>().ok().map(Value::from),
        FieldType::Json | FieldType::List { .. } => serde_json::from_str(text).ok(),
        _ => None,
    };
    parsed.unwrap_or_else(|| text.into())
}

fn entries(client: &mut Client, query: &str) -> Result<Vec<Entry>, String> {
    let entry = |row: SimpleQueryRow| {
        let text = |name: &str| row.try_get(name).map_err(|error| error.to_string());
        let rows = serde_json::from_str(text("rows")?.unwrap_or_default());
        // A log without provenance has no details.
        let details = row.try_get(DETAILS).ok().flatten();
        let details = details.and_then(|details| serde_json::from_str::<Value>(details).ok());
        Ok(Entry {
            id: text("id")?.unwrap_or_default().to_owned(),
            rows: rows.map_err(|error| error.to_string())?,
            other: details.map(|details| (DETAILS.to_owned(), details)).into_iter().collect(),
        })
    };
    rows(client, query)?.into_iter().map(entry).collect()
}
