//! Outcome of a commit whose answer was lost.
//!
//! The commit may still lie in the buffer of the lost connection, so the transaction's number comes first: while it is in progress,
//! the outcome is open. Then the entry of the log decides, since after a failover the number may be another transaction's, or not
//! be reached yet.

use std::time::{Duration, Instant};

use rusqlite::types::Value as Sql;
use tabellion_runtime::{Failure, FailureKind};
use tokio::time::sleep;

use super::{
    connection::Mode,
    failures::{Fault, away, unknown},
    shared::Shared,
};
use crate::sql::Statement;

/// Time that the database is waited for.
const OUTCOME_TIMEOUT: Duration = Duration::from_secs(30);
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Returns `Ok` if the log has a change with this id, durable on all of the database's standbys.
///
/// # Errors
/// If it does not, or the outcome can't be determined.
pub(crate) async fn confirm(shared: &Shared, id: &str, transaction: &str) -> Result<(), Failure> {
    let begun = Instant::now();
    while begun.elapsed() < OUTCOME_TIMEOUT {
        match found(shared, id, transaction).await {
            Ok(Some(true)) => return Ok(()),
            Ok(Some(false)) => return Err(away()),
            Ok(None) | Err(Fault::Lost(_) | Fault::Conflict) => {}
            Err(Fault::Failure(failure)) if failure.kind == FailureKind::Busy => {}
            Err(Fault::Failure(failure)) => {
                tracing::error!(%failure, id, "can't find out what became of a change");
                break;
            }
        }
        sleep(POLL_INTERVAL).await;
    }
    Err(unknown(id))
}

/// Returns true if the change is in the log; `None` if that can't be decided yet.
async fn found(shared: &Shared, id: &str, transaction: &str) -> Result<Option<bool>, Fault> {
    let (lease, _) = shared.pool.begin(Mode::Follows, "").await?;
    let status = lease.link()?.select(&format!("SELECT pg_xact_status('{transaction}')")).await;
    let is_open = match status {
        Ok(status) => status.first().is_some_and(|status| status == "in progress"),
        Err(Fault::Lost(_)) => true,
        // The number is not reached yet: this server was promoted before it was.
        Err(_) => false,
    };
    if is_open {
        return Ok(None);
    }
    lease.end("ROLLBACK").await;
    is_there(shared, id).await.map(Some)
}

async fn is_there(shared: &Shared, id: &str) -> Result<bool, Fault> {
    // Standbys confirm commits in order, so a commit of our own confirms those before it.
    let sql = "INSERT INTO meta VALUES ('confirmed', '') ON CONFLICT (name) DO UPDATE SET value = ''";
    let (lease, _) = shared.pool.begin(Mode::Changes, sql).await?;
    let link = lease.link()?;
    let statement =
        Statement { sql: "SELECT 1 FROM change WHERE id = $1".into(), values: vec![Sql::Text(id.into())] };
    let is_there = !link.query(&statement).await?.is_empty();
    link.select("COMMIT").await?;
    lease.ended();
    Ok(is_there)
}
