//! Rate limits that servers share: token buckets as in `tabellion_runtime::token_bucket`, each stored as the time at which it is
//! full again.

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension as _, params};
use tabellion_runtime::token_bucket::Rate;

/// Takes a token of the bucket `name`. If it has none, the inner error is the time until the next token.
pub(crate) fn take(
    connection: &Connection,
    name: &str,
    rate: Rate,
    now: i64,
) -> rusqlite::Result<Result<(), Duration>> {
    let full_at: Option<i64> = connection
        .prepare_cached("SELECT full_at FROM bucket WHERE name = ?1")?
        .query_row([name], |row| row.get(0))
        .optional()?;
    let full_in = full_at.map_or(0, |at| at - now);
    let full_in = Duration::from_nanos(u64::try_from(full_in).unwrap_or(0));
    let full_in = match rate.take(full_in) {
        Ok(full_in) => full_in,
        Err(wait) => return Ok(Err(wait)),
    };
    let next = now.saturating_add(i64::try_from(full_in.as_nanos()).unwrap_or(i64::MAX));
    connection
        .prepare_cached("INSERT INTO bucket VALUES (?1, ?2) ON CONFLICT DO UPDATE SET full_at = ?2")?
        .execute(params![name, next])?;
    Ok(Ok(()))
}

/// Deletes full buckets.
pub(crate) fn forget(connection: &Connection, now: i64) -> rusqlite::Result<()> {
    connection.execute("DELETE FROM bucket WHERE full_at < ?1", [now])?;
    Ok(())
}
