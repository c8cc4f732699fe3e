//! Limits that servers share: token buckets, each as the time at which it is full again (GCRA, as `tabellion_runtime::token_bucket`).

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension as _, params};
use tabellion_runtime::RateLimit;

use crate::clock;

/// Takes a token of the bucket `name`; the inner error is the time until there is one, if there is none.
pub(crate) fn take(
    connection: &Connection,
    name: &str,
    limit: &RateLimit,
    now: i64,
) -> rusqlite::Result<Result<(), Duration>> {
    let full_at: Option<i64> = connection
        .prepare_cached("SELECT full_at FROM bucket WHERE name = ?1")?
        .query_row([name], |row| row.get(0))
        .optional()?;
    let within = clock::seconds(limit.seconds);
    let one = within / i64::from(limit.calls.get());
    let next = full_at.map_or(now, |at| at.max(now)) + one;
    let wait = next - now - within;
    if wait > 0 {
        return Ok(Err(Duration::from_nanos(wait.unsigned_abs())));
    }
    connection
        .prepare_cached("INSERT INTO bucket VALUES (?1, ?2) ON CONFLICT DO UPDATE SET full_at = ?2")?
        .execute(params![name, next])?;
    Ok(Ok(()))
}

/// Forgets the buckets that are full.
pub(crate) fn forget(connection: &Connection, now: i64) -> rusqlite::Result<()> {
    connection.execute("DELETE FROM bucket WHERE full_at < ?1", [now])?;
    Ok(())
}
