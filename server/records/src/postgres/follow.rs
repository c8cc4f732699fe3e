//! Following the log in spite of gaps between its entries' places.
//!
//! A place is drawn before its entry becomes visible, so an entry may appear before those of smaller places. A transaction that may
//! still fill a gap has drawn its place, and therefore holds a lock of the log's table until it ends. So: once the entry after the
//! gap is visible, note the transactions that hold such a lock. When all of them have ended, the missing entries never come.

use std::{
    collections::BTreeSet,
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::future::try_join_all;
use rusqlite::types::Value as Sql;
use tabellion_runtime::Failure;
use tokio::time::sleep;

use super::{
    connection::{Link, Mode},
    failures::Fault,
    log,
    shared::Shared,
};
use crate::{
    follow::{Changed, Followed, FollowedRow},
    sql::{Statement, of_identity},
};

/// Time limit for waiting on open transactions.
const WRITERS_TIMEOUT: Duration = Duration::from_secs(10);
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// The transactions that may have drawn a place.
type Writers = BTreeSet<String>;

async fn writers(link: &Link) -> Result<Writers, Fault> {
    let sql = "SELECT virtualtransaction FROM pg_locks WHERE locktype = 'relation' AND relation = 'change'::regclass \
               AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) \
               AND mode = 'RowExclusiveLock' AND granted";
    Ok(link.select(sql).await?.into_iter().collect())
}

/// Waits until all of these have ended.
async fn wait_for(link: &Link, waiting: &Writers) -> Result<(), Failure> {
    let begun = Instant::now();
    while !waiting.is_disjoint(&writers(link).await?) {
        if begun.elapsed() > WRITERS_TIMEOUT {
            let message = "a change is not committed yet, for it waits for the database's copies; try again";
            return Err(Failure::busy(message));
        }
        sleep(POLL_INTERVAL).await;
    }
    Ok(())
}

/// Returns the place of the last entry. Any state read from now on includes all entries up to it.
pub(crate) async fn end(shared: &Arc<Shared>) -> Result<i64, Failure> {
    let (lease, _) = shared.pool.begin(Mode::Follows, "").await?;
    let link = lease.link()?;
    let end = log::end(link).await?;
    let waiting = writers(link).await?;
    wait_for(link, &waiting).await?;
    lease.end("ROLLBACK").await;
    Ok(end)
}

/// Returns the id of the entry at a place.
pub(crate) async fn id_at(shared: &Arc<Shared>, at: i64) -> Result<Option<String>, Fault> {
    let (lease, _) = shared.pool.begin(Mode::Follows, "").await?;
    let statement =
        Statement { sql: "SELECT id FROM change WHERE seq = $1".into(), values: vec![Sql::Integer(at)] };
    let found = lease.link()?.query(&statement).await?;
    lease.end("ROLLBACK").await;
    Ok(found.first().map(|columns| columns.get(0)))
}

/// Returns the rows of these entities that at most `max` entries after a place changed.
pub(crate) async fn after(
    shared: &Arc<Shared>,
    after: i64,
    max: u32,
    entities: &[String],
) -> Result<Followed, Failure> {
    let (lease, _) = shared.pool.begin(Mode::Follows, "").await?;
    let link = lease.link()?;
    // The log is complete up to this place: no entry can still appear before it.
    let mut decided = after;
    let entries = loop {
        let mut entries = log::after(link, after, max.into()).await?;
        let mut last = after;
        let gap = entries.iter().position(|entry| {
            let is_gap = entry.seq > last + 1 && entry.seq > decided;
            last = entry.seq;
            is_gap
        });
        let Some(gap) = gap else { break entries };
        let waiting = writers(link).await?;
        if gap > 0 && !waiting.is_empty() {
            entries.truncate(gap);
            break entries;
        }
        decided = entries.last().map_or(decided, |last| last.seq);
        wait_for(link, &waiting).await?;
    };
    let names: Vec<_> = entities.iter().map(String::as_str).collect();
    let mut changed = Changed::after(shared.spec, after, &names);
    entries.iter().for_each(|entry| changed.add(entry));
    // All queries are sent together.
    let rows = try_join_all(changed.rows.into_iter().map(|(entity, key)| async move {
        let row = link.rows(&of_identity(entity, &key)).await?.pop();
        Ok::<_, Fault>(FollowedRow { entity, key, row })
    }));
    let rows = rows.await?;
    lease.end("ROLLBACK").await;
    Ok(Followed { rows, to: changed.to })
}
