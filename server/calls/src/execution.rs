//! Executions: recorded, ended, read.

use data_encoding::HEXLOWER;
use rusqlite::{Connection, OptionalExtension as _, Row, ToSql, params, types::Type};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tabellion_runtime::calls::{Ended, Execution, ExecutionFilter, ExecutionStatus, NewExecution};

use crate::clock::{seconds, time};

/// Maximum number of characters of a text in the arguments that is stored verbatim.
const MAX_TEXT: usize = 200;

const COLUMNS: &str = "id, contract, tool, mutating, session, caller, client, input, input_digest, status, created_at, completed_at,
    result, meta, error, commit_id, replay, caller_name";

/// Records that a call begins, or waits to begin.
pub(crate) fn insert(
    connection: &Connection,
    id: &str,
    call: &NewExecution<'_>,
    session: Option<&str>,
    server: &str,
    now: i64,
) -> rusqlite::Result<()> {
    let status = if call.is_pending { ExecutionStatus::Pending } else { ExecutionStatus::Running };
    let kept = call.contract.executions;
    let until = |lasting: Option<u32>| now + seconds(lasting.unwrap_or(0));
    connection
        .prepare_cached(
            "INSERT INTO execution (id, contract, tool, mutating, keeps, session, caller, client, input, input_digest, server, status,
                                    created_at, keep_until, result_until, caller_name)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
        )?
        .execute(params![
            id,
            call.contract.id,
            call.tool.label(),
            call.tool.mutating,
            call.keeps_result || call.tool.mutating,
            session,
            call.caller.map(|caller| caller.identity.to_string()),
            call.client,
            shortened(call.arguments).to_string(),
            digest(call.arguments.to_string().as_bytes()),
            server,
            status.to_string(),
            now,
            until(kept.map(|kept| kept.keep_seconds)),
            until(kept.map(|kept| kept.result_seconds)),
            call.caller.map(|caller| &*caller.name),
        ])?;
    Ok(())
}

/// Records that a pending execution has begun.
pub(crate) fn start(connection: &Connection, id: &str) -> rusqlite::Result<()> {
    connection
        .prepare_cached("UPDATE execution SET status = 'running' WHERE id = ?1 AND status = 'pending'")?
        .execute([id])?;
    Ok(())
}

/// Records the outcome of an execution, unless it has ended already.
pub(crate) fn finish(connection: &Connection, id: &str, ended: &Ended, now: i64) -> rusqlite::Result<()> {
    let text = |value: &Option<Value>| value.as_ref().map(Value::to_string);
    connection
        .prepare_cached(
            "UPDATE execution SET status = ?2, completed_at = ?3, result = CASE WHEN keeps THEN ?4 END, meta = ?5, error = ?6,
                                  commit_id = ?7, replay = ?8
             WHERE id = ?1 AND completed_at IS NULL",
        )?
        .execute(params![
            id,
            ended.status.to_string(),
            now,
            text(&ended.result),
            text(&ended.meta),
            text(&ended.error),
            ended.commit,
            ended.is_replay,
        ])?;
    Ok(())
}

/// Returns the execution with this id, and the id of the server that runs it.
pub(crate) fn read(connection: &Connection, id: &str) -> rusqlite::Result<Option<(Execution, String)>> {
    connection
        .prepare_cached(&format!("SELECT {COLUMNS}, server FROM execution WHERE id = ?1"))?
        .query_row([id], |row| Ok((of_row(row)?, row.get(18)?)))
        .optional()
}

/// An unfinished execution.
#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) id: String,
    pub(crate) server: String,
    pub(crate) created_at: i64,
}

/// Returns the unfinished executions, oldest first.
pub(crate) fn open(connection: &Connection) -> rusqlite::Result<Vec<Open>> {
    let mut query = connection.prepare_cached(
        "SELECT id, server, created_at FROM execution WHERE completed_at IS NULL ORDER BY created_at",
    )?;
    let open = query
        .query_map([], |row| Ok(Open { id: row.get(0)?, server: row.get(1)?, created_at: row.get(2)? }))?;
    open.collect()
}

/// Calls `each` with the executions that match `filter`, oldest first, as long as it returns true.
pub(crate) fn each(
    connection: &Connection,
    filter: &ExecutionFilter,
    each: &mut dyn FnMut(Execution) -> bool,
) -> rusqlite::Result<()> {
    let nanoseconds = |time: &chrono::DateTime<chrono::Utc>| time.timestamp_nanos_opt().unwrap_or(0);
    let status = filter.status.map(|status| status.to_string());
    let (since, until) = (filter.since.as_ref().map(nanoseconds), filter.until.as_ref().map(nanoseconds));
    let conditions: [(&str, Option<&dyn ToSql>); 6] = [
        ("session = ?", filter.session.as_ref().map(|it| it as _)),
        ("? IN (caller, caller_name)", filter.caller.as_ref().map(|it| it as _)),
        ("tool = ?", filter.tool.as_ref().map(|it| it as _)),
        ("status = ?", status.as_ref().map(|it| it as _)),
        ("created_at >= ?", since.as_ref().map(|it| it as _)),
        ("created_at < ?", until.as_ref().map(|it| it as _)),
    ];
    let asked = conditions.into_iter().filter_map(|(condition, value)| Some((condition, value?)));
    let (conditions, values): (Vec<_>, Vec<_>) = asked.unzip();
    let conditions = if conditions.is_empty() { "1".to_owned() } else { conditions.join(" AND ") };
    let mut query = connection
        .prepare(&format!("SELECT {COLUMNS} FROM execution WHERE {conditions} ORDER BY created_at, id"))?;
    let mut rows = query.query(&values[..])?;
    while let Some(row) = rows.next()? {
        if !each(of_row(row)?) {
            break;
        }
    }
    Ok(())
}

/// Deletes expired executions and results.
pub(crate) fn forget(connection: &Connection, now: i64) -> rusqlite::Result<()> {
    connection.execute("DELETE FROM execution WHERE keep_until < ?1 AND completed_at IS NOT NULL", [now])?;
    connection.execute(
        "UPDATE execution SET result = NULL WHERE result_until < ?1 AND result IS NOT NULL",
        [now],
    )?;
    Ok(())
}

fn of_row(row: &Row<'_>) -> rusqlite::Result<Execution> {
    let json = |column: usize| -> rusqlite::Result<Option<Value>> {
        let text: Option<String> = row.get(column)?;
        let read = |text: String| {
            serde_json::from_str(&text).map_err(|error| {
                rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(error))
            })
        };
        text.map(read).transpose()
    };
    let status: String = row.get(9)?;
    let status = serde_json::from_value(status.into())
        .map_err(|error| rusqlite::Error::FromSqlConversionFailure(9, Type::Text, Box::new(error)))?;
    Ok(Execution {
        id: row.get(0)?,
        contract: row.get(1)?,
        tool: row.get(2)?,
        is_mutating: row.get(3)?,
        session: row.get(4)?,
        caller: row.get(5)?,
        caller_name: row.get(17)?,
        client: row.get(6)?,
        input: json(7)?.unwrap_or_default(),
        input_digest: row.get(8)?,
        created_at: time(row.get(10)?),
        completed_at: row.get::<_, Option<i64>>(11)?.map(time),
        end: Ended {
            status,
            result: json(12)?,
            meta: json(13)?,
            error: json(14)?,
            commit: row.get(15)?,
            is_replay: row.get(16)?,
        },
    })
}

/// Returns the arguments with long texts replaced by their digests.
fn shortened(arguments: &Value) -> Value {
    match arguments {
        Value::String(text) if text.chars().nth(MAX_TEXT).is_some() => {
            json!({ "sha256": digest(text.as_bytes()), "characters": text.chars().count() })
        }
        Value::Array(items) => items.iter().map(shortened).collect(),
        Value::Object(members) => {
            let members = members.iter().map(|(name, value)| (name.clone(), shortened(value)));
            Value::Object(members.collect())
        }
        value => value.clone(),
    }
}

fn digest(bytes: &[u8]) -> String {
    HEXLOWER.encode(&Sha256::digest(bytes))
}
