//! The interface of a database that keeps rows, and the seed rows of a new store.

use std::{any::Any, fmt::Debug, io::Write, path::Path};

use serde_json::{Map, Value};
use tabellion_runtime::{
    BoxFuture, CallContext, Claim, Entry, Failure, Row, RowView, Rows, RowsChange, Session,
    ground::State,
    rows::{Plan, Select, Within},
    spec::{EntitySpec, RowsSpec},
};

use crate::{Pieces, failures::damaged, follow::Followed, whole::Checked};

/// A database's answer, which may have to be waited for.
pub(crate) type Answer<'a, T> = BoxFuture<'a, Result<T, Failure>>;

/// Permitted effects of opening on the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// Creates missing tables, and applies changes that only add to them. New indexes of a database's tables are built in the background.
    Serve,
    /// Also drops entities and fields, in a file; databases have `remake` for that. Waits until new indexes are built.
    Migrate,
    /// Changes nothing, and requires data of this version.
    Existing,
}

/// A database that keeps the rows of a contract.
pub(crate) trait Engine: Any + Debug + Send + Sync {
    /// Returns the folder for derived files.
    fn beside(&self) -> &Path;

    /// Returns true if the database answers, or the data file is in its place. Takes at most a few seconds.
    fn is_reachable(&self) -> bool {
        true
    }

    /// Returns the place of the log's last entry; 0 if it has none.
    fn end(&self) -> Result<i64, Failure>;

    /// Returns the id of the log's entry at a place.
    fn entry_id(&self, at: i64) -> Result<Option<String>, Failure>;

    /// Returns the selected rows.
    fn rows(&self, select: &Select) -> Result<Vec<Row>, Failure>;

    /// Returns the number of rows of each of these entities, and the place of the log's last entry at that time.
    fn counts(&self, entities: &[&'static EntitySpec]) -> Result<(Vec<u64>, i64), Failure>;

    /// Returns the rows changed by at most `max` entries after a place.
    fn follow(&self, after: i64, max: u32, entities: &[&str]) -> Result<Followed, Failure>;

    /// Checks that replaying the log yields the tables.
    fn check(&self) -> Result<Checked, Failure>;

    /// Writes the log and the rows as lines of JSON.
    fn export(&self, to: &mut dyn Write) -> Result<(), Failure>;

    /// Returns the last shared copy of a derived file; `None` if copies are not shared, or there is none.
    fn shared_copy(&self, name: &str) -> Result<Option<Vec<u8>>, Failure> {
        let _ = name;
        Ok(None)
    }

    /// Returns the number of changes since the last shared copy of a derived file; `None` if copies are not shared.
    fn since_shared(&self, name: &str) -> Result<Option<i64>, Failure> {
        let _ = name;
        Ok(None)
    }

    /// Shares a copy of a derived file that covers the log up to a place.
    fn share(&self, name: &str, at: i64, bytes: Vec<u8>) -> Result<(), Failure> {
        let (_, _, _) = (name, at, bytes);
        Ok(())
    }

    /// Returns the pieces that servers share, if they do.
    fn pieces(&self) -> Option<&dyn Pieces> {
        None
    }

    /// Does the work that is due at the end of a process.
    fn settle(&self) -> Result<(), Failure>;

    /// Waits for a turn at changing the rows.
    fn begin<'a>(&'a self, claim: Claim<'a>) -> Answer<'a, Box<dyn Session<Rows> + 'a>>;

    /// Returns one consistent state for all reads of a call.
    fn snapshot(&self) -> Answer<'_, State<'_, Rows>>;
}

/// Plans the seed rows of a new store.
pub(crate) async fn seeds(spec: &'static RowsSpec, view: &dyn RowView) -> Result<RowsChange, Failure> {
    let facts = Map::new();
    let mut rows = vec![];
    for seed in spec.seeds {
        let within = Within { org: seed.org.map(String::from), is_bound: false };
        let mut plan = Plan::new(spec, view, within, &facts);
        // The plan of each seed sees earlier seeds only as part of itself.
        plan.adopt(std::mem::take(&mut rows));
        let failure = |error: tabellion_runtime::rows::RowError| error.into_failure("");
        let entity = plan.entity(seed.entity).map_err(failure)?;
        let given = serde_json::from_str(seed.row).map_err(damaged)?;
        plan.create(entity, given).await.map_err(failure)?;
        let change = plan.finish("seed").map_err(failure)?;
        rows = change.into_rows();
    }
    RowsChange::new(rows, "seed").map_err(damaged)
}

/// Returns the log entry of the seed rows.
pub(crate) fn seeded<'a>(call: &'a CallContext, details: &'a Map<String, Value>) -> Entry<'a> {
    Entry { tool: "seed", call, request: None, details }
}
