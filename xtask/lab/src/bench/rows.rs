//! Rows: one durable change compared with bare SQLite, reading among many rows, starting, memory, and space on the disk.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use rusqlite::Connection;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{
    peers,
    pipe::Pipe,
    table::{Row, Table},
};
use xtask::{Outcome, root, run};

/// Number of changes whose space on the disk is measured.
const CHANGES: usize = 1_000;
/// Number of starts that are measured.
const STARTS: usize = 20;
const TOOL: &str = "entity";

/// Measures with each number of rows.
pub(super) fn all(within: &Path, sizes: &[usize], calls: usize) -> Outcome<Vec<Table>> {
    peers::build("floor_rows")?;
    let mut tables = vec![space(within)?];
    for size in sizes {
        tables.push(measure(&Data::create(within, *size)?, calls)?);
    }
    Ok(tables)
}

/// Rows in a data folder.
struct Data {
    folder: TempDir,
    size: usize,
}

impl Data {
    /// Creates data of `size` rows. They are written by SQL, without entries of the log, which reading calls do not use.
    fn create(within: &Path, size: usize) -> Outcome<Self> {
        let data = Self { folder: tempfile::tempdir_in(root().join(within))?, size };
        data.serve()?.close()?;
        let connection = Connection::open(data.file())?;
        connection.execute(
            "WITH RECURSIVE n(at) AS (SELECT 1 UNION ALL SELECT at + 1 FROM n WHERE at < ?1)
             INSERT INTO teams (id, org_id, name, seq, created_at)
             SELECT 'team-' || at, 'org_default', 'Team ' || at, 1000 + at, 1 FROM n WHERE at <= ?1",
            [size as i64],
        )?;
        // Rows that are created later then have a `seq` after these.
        connection.execute("UPDATE change SET last = 1000 + ?1", [size as i64])?;
        Ok(data)
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("mcb.db")
    }

    fn serve(&self) -> Outcome<Pipe> {
        Pipe::serve(self.folder.path())
    }

    /// Measures the time from the start to the first `tools/list`.
    fn start(&self) -> Outcome<Duration> {
        let since = Instant::now();
        let mut server = self.serve()?;
        server.request("tools/list", &json!({}))?;
        let elapsed = since.elapsed();
        server.close()?;
        Ok(elapsed)
    }
}

fn create(name: &str) -> Value {
    json!({ "action": "create", "resource": "team", "data": { "name": name } })
}

fn measure(data: &Data, calls: usize) -> Outcome<Table> {
    let size = data.size;
    let mut table = Table::new(format!("{size} rows"));
    let empty = Data::create(&data.folder.path().join(".."), 0)?;
    let mut start = Row::new("start to the first `tools/list`", "the same without rows", "≤ 10 ms more");
    for _ in 0..STARTS {
        start.ours(data.start()?);
        start.peer(empty.start()?);
    }
    table.add(start);

    let mut server = data.serve()?;
    table.note("memory at rest", format!("{:.1} MB", server.megabytes()?));
    let mut floor = floor(data.folder.path(), size)?;
    let mut change = Row::new("create, durable", "a line loop over SQLite: the row alone", "≤ 2×");
    let mut same = Row::new("create, durable", "a line loop over SQLite: the row and its log entry", "≤ 2×");
    for i in 0..calls * 5 {
        let ours = server.call(TOOL, create(&format!("new {i}")))?;
        change.ours(ours);
        same.ours(ours);
        change.peer(floor.call("insert", json!({ "i": i }))?);
        same.peer(floor.call("insert_logged", json!({ "i": i }))?);
    }
    table.add(change);
    table.add(same);
    let creations = |round: usize, i: usize| create(&format!("crowd {round} {i}"));
    table.add(server.in_flight("create, 32 in flight, each", calls, TOOL, creations)?);

    let mut get = Row::new("get", "a line loop over SQLite", "≤ 2×");
    let mut list = Row::new(
        "list, 1,000 rows and the number of all (≤ 10 ms of 10,000)",
        "a line loop over SQLite",
        "≤ 2×",
    );
    for i in 0..calls * 5 {
        let id = format!("team-{}", 1 + i * 7919 % size);
        get.peer(floor.call("get", json!({ "id": id }))?);
        get.ours(server.call(TOOL, json!({ "action": "get", "resource": "team", "id": id }))?);
    }
    for _ in 0..calls.min(50) {
        list.ours(server.call(TOOL, json!({ "action": "list", "resource": "team" }))?);
        list.peer(floor.call("list", json!({}))?);
    }
    table.add(get);
    table.add(list);
    floor.close()?;
    table.note("memory after that", format!("{:.1} MB", server.megabytes()?));
    println!("{table}");
    Ok(table)
}

/// Measures the space that changes take.
fn space(within: &Path) -> Outcome<Table> {
    let data = Data::create(within, 0)?;
    let before = fs::metadata(data.file())?.len();
    let mut server = data.serve()?;
    for i in 0..CHANGES {
        server.call(TOOL, create(&format!("team {i}")))?;
    }
    // The end of the server moves its log of writes into the file.
    server.close()?;
    let grown = fs::metadata(data.file())?.len() - before;
    let mut table = Table::new("space".to_owned());
    table.note(
        "on the disk for 1,000 changes, with their log",
        format!("{:.0} KB, after {:.0} KB without any", grown as f64 / 1e3, before as f64 / 1e3),
    );
    println!("{table}");
    Ok(table)
}

/// SQLite behind a loop over lines, with the same durability and without any rule.
fn floor(folder: &Path, size: usize) -> Outcome<Pipe> {
    let mut command = Command::new(run::released("examples/floor_rows"));
    let mut pipe = Pipe::start(command.arg(folder.join("floor.sqlite")).arg(size.to_string()))?;
    // It answers once the rows are there.
    pipe.request("tools/list", &json!({}))?;
    Ok(pipe)
}
