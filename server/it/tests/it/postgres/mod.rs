//! Rows in PostgreSQL, with servers of PostgreSQL that are started, killed and promoted here. `cargo xtask postgres` runs them.

mod outages;
mod proof;
mod servers;
mod speed;

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use serde_json::Value;
use tabellion_contracts::mcb::{CONTRACT, ROWS, ToolError};
use tabellion_records::{Address, Location, Records, Start};
use tabellion_runtime::{CallContext, IdempotencyKey, Rejection, dispatch, rows};
use tempfile::TempDir;
use xtask::foreign::postgres::{Cluster, Programs};

/// Time limit of a wait.
const TIMEOUT: Duration = Duration::from_secs(120);

fn cluster(settings: &[&str]) -> Cluster {
    let programs = Programs::of_environment().expect("`cargo xtask postgres` runs these tests");
    Cluster::start(&programs, settings).expect("a cluster")
}

/// A place for rows, on one or several servers.
struct Rows {
    address: String,
    derived: TempDir,
}

impl Rows {
    /// Makes a database for them.
    fn on(cluster: &Cluster) -> Self {
        cluster.create("team").expect("a database");
        Self::new(format!("{}/team", cluster.address()))
    }

    fn new(address: String) -> Self {
        Self { address, derived: tempfile::tempdir().expect("a folder") }
    }

    /// Returns the name of the database.
    fn name(&self) -> String {
        let name = self.address.rsplit('/').next();
        name.unwrap_or_default().to_owned()
    }

    fn place(&self) -> Location {
        Location::Postgres {
            address: Address::parse(&self.address).expect("an address"),
            derived: self.derived.path().into(),
        }
    }

    fn open(&self) -> Records {
        self.with(Start::Serve)
    }

    fn with(&self, start: Start) -> Records {
        Records::open(self.place(), &ROWS, start).unwrap_or_else(|failure| panic!("{failure}"))
    }
}

/// Calls an operation of `mcb`; an error is its data, with its message.
async fn call(records: &Records, tool: &str, arguments: Value, key: Option<&str>) -> Result<Value, Value> {
    let tool = CONTRACT.tool(tool).expect("a tool");
    let call = CallContext {
        idempotency_key: key.map(|key| IdempotencyKey::parse(key).expect("a key")),
        ..CallContext::default()
    };
    let operation = dispatch::operation::<ToolError>(tool, &arguments).expect("an operation");
    let run = dispatch::Run { operation, service: &(), store: records, call: &call, arguments };
    let answer = rows::run::<ToolError, _>(&ROWS, run).await;
    answer.map(|answer| answer.response).map_err(|rejection| match rejection {
        Rejection::Declared(error) => {
            let mut data = Value::Object(error.data);
            data["message"] = error.message.into();
            data
        }
        other => panic!("{other:?}"),
    })
}

/// Numbers that follow from a seed.
struct Random(AtomicU64);

impl Random {
    fn new(seed: u64) -> Self {
        Self(AtomicU64::new(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1))
    }

    fn below(&self, end: u64) -> u64 {
        let step = |state: u64| {
            let state = state ^ (state << 13);
            let state = state ^ (state >> 7);
            Some(state ^ (state << 17))
        };
        let before = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, step);
        before.unwrap_or_else(|before| before) % end
    }
}

/// Waits until a condition holds.
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < TIMEOUT, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
