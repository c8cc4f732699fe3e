//! Shared copies of derived files, for servers that start: the newest one of each.

use std::sync::Arc;

use data_encoding::HEXLOWER;
use rusqlite::types::Value as Sql;
use sha2::{Digest, Sha256};
use tabellion_runtime::Failure;

use super::{connection::Mode, failures::Fault, log, shared::Shared};
use crate::sql::Statement;

/// SQL of the table of copies, in parts.
pub(crate) const CREATE: &str = "CREATE TABLE derived (
    name text COLLATE \"C\", part bigint, at bigint NOT NULL, digest text NOT NULL, bytes bytea NOT NULL, PRIMARY KEY (name, part))";

/// Size of a part.
const PART: usize = 1 << 20;
/// Maximum size of a copy.
const MAX_BYTES: usize = 1 << 30;

/// Returns the last copy if it is complete.
pub(crate) async fn copy(shared: &Arc<Shared>, name: &str) -> Result<Option<Vec<u8>>, Failure> {
    let (lease, _) = shared.pool.begin(Mode::Reads, "").await?;
    let (mut bytes, mut digest) = (vec![], String::new());
    for part in 0.. {
        let statement = Statement {
            sql: "SELECT digest, bytes FROM derived WHERE name = $1 AND part = $2".into(),
            values: vec![Sql::Text(name.into()), Sql::Integer(part)],
        };
        let found = lease.link()?.query(&statement).await?;
        let Some(columns) = found.first().filter(|_| bytes.len() < MAX_BYTES) else {
            break;
        };
        digest = columns.get(0);
        bytes.extend_from_slice(columns.get(1));
    }
    lease.end("ROLLBACK").await;
    let is_whole = !bytes.is_empty() && HEXLOWER.encode(&Sha256::digest(&bytes)) == digest;
    Ok(is_whole.then_some(bytes))
}

/// Returns the number of places in the log since the last copy.
pub(crate) async fn since(shared: &Arc<Shared>, name: &str) -> Result<i64, Failure> {
    let (lease, _) = shared.pool.begin(Mode::Follows, "").await?;
    let statement = Statement {
        sql: "SELECT at FROM derived WHERE name = $1 AND part = 0".into(),
        values: vec![Sql::Text(name.into())],
    };
    let (link, end) = (lease.link()?, log::end(lease.link()?).await?);
    let found = link.query(&statement).await?;
    lease.end("ROLLBACK").await;
    Ok(end - found.first().map_or(0, |columns| columns.get::<_, i64>(0)))
}

/// Replaces the last copy, unless another server does so meanwhile.
pub(crate) async fn put(shared: &Arc<Shared>, name: &str, at: i64, bytes: Vec<u8>) -> Result<(), Failure> {
    match try_to_put(shared, name, at, bytes).await {
        Ok(()) | Err(Fault::Conflict) => Ok(()),
        Err(fault) => Err(fault.failure()),
    }
}

async fn try_to_put(shared: &Arc<Shared>, name: &str, at: i64, bytes: Vec<u8>) -> Result<(), Fault> {
    if bytes.len() > MAX_BYTES {
        return Ok(());
    }
    let digest = HEXLOWER.encode(&Sha256::digest(&bytes));
    let (lease, _) = shared.pool.begin(Mode::Changes, "").await?;
    let link = lease.link()?;
    let remove = Statement {
        sql: "DELETE FROM derived WHERE name = $1 AND at < $2".into(),
        values: vec![Sql::Text(name.into()), Sql::Integer(at)],
    };
    link.execute(&remove).await?;
    for (part, bytes) in (0..).zip(bytes.chunks(PART)) {
        let values = vec![
            Sql::Text(name.into()),
            Sql::Integer(part),
            Sql::Integer(at),
            Sql::Text(digest.clone()),
            Sql::Blob(bytes.to_vec()),
        ];
        let sql = "INSERT INTO derived VALUES ($1, $2, $3, $4, $5)".into();
        link.execute(&Statement { sql, values }).await?;
    }
    link.select("COMMIT").await?;
    lease.ended();
    Ok(())
}
