//! Pieces that servers share, in the table of copies: each is a part of its own.

use std::sync::Arc;

use rusqlite::types::Value as Sql;
use tabellion_runtime::Failure;
use tokio_postgres::Row as Columns;

use super::{connection::Mode, database::Database, failures::Fault, shared::Shared};
use crate::{Piece, Pieces, sql::Statement};

/// Digest of a piece; a claimed one has none.
const WHOLE: &str = "piece";
/// Condition on the names of one parameter, a line each.
const NAMED: &str = "part = 0 AND name = ANY (string_to_array($1, E'\\n'))";
/// Seconds since 1970, by the database's clock.
const NOW: &str = "extract(epoch FROM now())::bigint";
/// Seconds after which a claim ends.
const CLAIM_TIMEOUT: u32 = 300;
/// Seconds for which a piece is kept that no row needs: a server that is behind may not know its row yet.
const MIN_AGE: u32 = 86_400;

impl Pieces for Database {
    fn pieces(&self, names: Vec<String>) -> Result<Vec<Piece>, Failure> {
        let sql = format!("SELECT name, bytes FROM derived WHERE {NAMED} AND digest = '{WHOLE}'");
        let found = self.change(vec![of_text(sql, names.join("\n"))])?;
        Ok(found.iter().map(|columns| (columns.get(0), columns.get(1))).collect())
    }

    fn claim(&self, names: Vec<String>) -> Result<Vec<String>, Failure> {
        // In one order, so that two servers do not wait for each other.
        let sql = format!(
            "INSERT INTO derived (name, part, at, digest, bytes) \
             SELECT name, 0, {NOW}, '', '' FROM unnest(string_to_array($1, E'\\n')) AS name ORDER BY name \
             ON CONFLICT (name, part) DO UPDATE SET at = excluded.at \
             WHERE derived.digest = '' AND derived.at < excluded.at - {CLAIM_TIMEOUT} RETURNING name"
        );
        let claimed = self.change(vec![of_text(sql, names.join("\n"))])?;
        Ok(claimed.iter().map(|columns| columns.get(0)).collect())
    }

    fn put(&self, mut pieces: Vec<Piece>) -> Result<(), Failure> {
        pieces.sort_unstable();
        let insert = |(name, bytes): Piece| Statement {
            sql: format!(
                "INSERT INTO derived (name, part, at, digest, bytes) VALUES ($1, 0, {NOW}, '{WHOLE}', $2) \
                 ON CONFLICT (name, part) DO UPDATE SET at = excluded.at, digest = excluded.digest, bytes = excluded.bytes"
            ),
            values: vec![Sql::Text(name), Sql::Blob(bytes)],
        };
        self.change(pieces.into_iter().map(insert).collect()).map(drop)
    }

    fn retain(&self, prefix: &str, is_kept: &dyn Fn(&str) -> bool) -> Result<(), Failure> {
        let sql =
            format!("SELECT name FROM derived WHERE part = 0 AND name ^@ $1 AND at < {NOW} - {MIN_AGE}");
        let found = self.change(vec![of_text(sql, prefix.to_owned())])?;
        let names = found.iter().map(|columns| columns.get::<_, String>(0));
        let gone: Vec<_> = names.filter(|name| !is_kept(name)).collect();
        let remove =
            |names: &[String]| of_text(format!("DELETE FROM derived WHERE {NAMED}"), names.join("\n"));
        self.change(gone.chunks(1_000).map(remove).collect()).map(drop)
    }
}

impl Database {
    /// Runs statements in one transaction. Returns the rows that the last one selects; none if another server does the same meanwhile.
    fn change(&self, statements: Vec<Statement>) -> Result<Vec<Columns>, Failure> {
        let shared = Arc::clone(&self.shared);
        self.shared.pool.wait(async move {
            match changed(&shared, &statements).await {
                Err(Fault::Conflict) => Ok(vec![]),
                changed => changed.map_err(Fault::failure),
            }
        })
    }
}

async fn changed(shared: &Arc<Shared>, statements: &[Statement]) -> Result<Vec<Columns>, Fault> {
    let (lease, _) = shared.pool.begin(Mode::Changes, "").await?;
    let (link, mut found) = (lease.link()?, vec![]);
    for statement in statements {
        found = link.query(statement).await?;
    }
    link.select("COMMIT").await?;
    lease.ended();
    Ok(found)
}

fn of_text(sql: String, text: String) -> Statement {
    Statement { sql, values: vec![Sql::Text(text)] }
}
