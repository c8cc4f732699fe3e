//! Rows: one durable change beside bare SQLite, reading among many rows, starting, memory, and space on the disk.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use rusqlite::{Connection, params};
use serde_json::{Value, json};
use tabellion_conformance::Target;
use tempfile::TempDir;

use super::{
    IN_FLIGHT, Server, succeeded,
    table::{Row, Table},
};
use crate::{Outcome, root};

/// Number of changes whose space on the disk is measured.
const CHANGES: usize = 1_000;
/// Number of starts that are measured.
const STARTS: usize = 20;
const TOOL: &str = "entity";

/// Measures with each number of rows.
pub(super) fn all(within: &Path, sizes: &[usize], calls: usize) -> Outcome<Vec<Table>> {
    let mut tables = vec![space(within)?];
    for size in sizes {
        tables.push(measure(&Data::of(within, *size)?, calls)?);
    }
    Ok(tables)
}

/// Rows in a data folder.
struct Data {
    folder: TempDir,
    size: usize,
}

impl Data {
    /// Creates data of `size` rows. They are written by SQL, without entries of the log, which no reading looks at.
    fn of(within: &Path, size: usize) -> Outcome<Self> {
        let data = Self {
            folder: tempfile::tempdir_in(root().join(within))?,
            size,
        };
        drop(data.serve()?);
        let connection = Connection::open(data.file())?;
        connection.execute(
            "WITH RECURSIVE n(at) AS (SELECT 1 UNION ALL SELECT at + 1 FROM n WHERE at < ?1)
             INSERT INTO teams (id, org_id, name, seq, created_at)
             SELECT 'team-' || at, 'org_default', 'Team ' || at, 1000 + at, 1 FROM n",
            [size as i64],
        )?;
        // So that rows that are created have a `seq` after these.
        connection.execute("UPDATE change SET last = 1000 + ?1", [size as i64])?;
        Ok(data)
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("mcb.db")
    }

    fn serve(&self) -> Outcome<Server> {
        let mut command = Command::new(root().join("target/release/tabellion"));
        command
            .args(["serve", "--contract", "mcb", "--data"])
            .arg(self.folder.path());
        let mut target = Target::start(command.stderr(Stdio::null()))?;
        target.initialize("2025-11-25")?;
        Ok(Server { target })
    }

    /// Measures the time from the start to the first `tools/list`.
    fn start(&self) -> Outcome<Duration> {
        let since = Instant::now();
        self.serve()?.target.request("tools/list", json!({}))?;
        Ok(since.elapsed())
    }
}

fn create(name: &str) -> Value {
    json!({ "action": "create", "resource": "team", "data": { "name": name } })
}

fn measure(data: &Data, calls: usize) -> Outcome<Table> {
    let size = data.size;
    let mut table = Table::new(format!("{size} rows"));
    let empty = Data::of(&data.folder.path().join(".."), 0)?;
    let mut start = Row::new(
        "start to the first `tools/list`",
        "the same without rows",
        "≤ 10 ms more",
    );
    for _ in 0..STARTS {
        start.ours(data.start()?);
        start.peer(empty.start()?);
    }
    table.add(start);

    let mut server = data.serve()?;
    table.note("memory at rest", format!("{:.1} MB", server.megabytes()?));
    let mut bare = Bare::open(data.folder.path(), size)?;
    let mut change = Row::new(
        "create, durable",
        "bare SQLite: the row alone, as durable",
        "≤ 2×",
    );
    let mut same = Row::new(
        "create, durable",
        "bare SQLite: the row and its log entry",
        "≤ 2×",
    );
    for i in 0..calls * 2 {
        let ours = server.time(TOOL, create(&format!("new {i}")))?;
        change.ours(ours);
        same.ours(ours);
        change.peer(bare.insert(i)?);
        same.peer(bare.insert_with_entry(i)?);
    }
    table.add(change);
    table.add(same);
    table.add(in_flight(&mut server, calls)?);

    let mut get = Row::alone("get");
    let mut list = Row::alone("list, 1,000 rows and the number of all (aim ≤ 10 ms of 10,000)");
    for i in 0..calls {
        let id = format!("team-{}", 1 + i * 7919 % size);
        get.ours(server.time(TOOL, json!({ "action": "get", "resource": "team", "id": id }))?);
    }
    for _ in 0..calls.min(50) {
        list.ours(server.time(TOOL, json!({ "action": "list", "resource": "team" }))?);
    }
    table.add(get);
    table.add(list);
    table.note("memory after that", format!("{:.1} MB", server.megabytes()?));
    println!("{table}");
    Ok(table)
}

/// Measures concurrent changes: the time of each as a share of the whole.
fn in_flight(server: &mut Server, calls: usize) -> Outcome<Row> {
    let mut row = Row::new("create, 32 in flight, each", "one at a time", "less than alone");
    for round in 0..(calls / IN_FLIGHT).max(3) {
        let since = Instant::now();
        for i in 0..IN_FLIGHT {
            let params = json!({ "name": TOOL, "arguments": create(&format!("crowd {round} {i}")) });
            server.target.post("tools/call", params)?;
        }
        for _ in 0..IN_FLIGHT {
            succeeded(&server.target.receive()?)?;
        }
        row.ours(since.elapsed() / IN_FLIGHT as u32);
        for i in 0..4 {
            row.peer(server.time(TOOL, create(&format!("alone {round} {i}")))?);
        }
    }
    Ok(row)
}

/// Measures the space that changes take.
fn space(within: &Path) -> Outcome<Table> {
    let data = Data::of(within, 0)?;
    let before = fs::metadata(data.file())?.len();
    let mut server = data.serve()?;
    for i in 0..CHANGES {
        server.time(TOOL, create(&format!("team {i}")))?;
    }
    // The end of the server moves its log of writes into the file.
    server.target.close()?;
    let grown = fs::metadata(data.file())?.len() - before;
    let mut table = Table::new("space".to_owned());
    table.note(
        "on the disk for 1,000 changes, with their log",
        format!(
            "{:.0} KB, after {:.0} KB without any",
            grown as f64 / 1e3,
            before as f64 / 1e3
        ),
    );
    println!("{table}");
    Ok(table)
}

/// SQLite without any rule, with the same durability.
struct Bare {
    connection: Connection,
    size: usize,
}

impl Bare {
    /// Opens a file with as many rows.
    fn open(folder: &Path, size: usize) -> Outcome<Self> {
        let connection = Connection::open(folder.join("bare.sqlite"))?;
        connection.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA fullfsync = ON;
             CREATE TABLE teams (id TEXT, org_id TEXT, name TEXT, seq INTEGER, created_at INTEGER, PRIMARY KEY (org_id, id)) STRICT;
             CREATE UNIQUE INDEX by_name ON teams (org_id, name);
             CREATE INDEX by_seq ON teams (org_id, seq);
             CREATE TABLE change (seq INTEGER PRIMARY KEY, id TEXT, at INTEGER, tool TEXT, rows TEXT) STRICT",
        )?;
        connection.execute(
            "WITH RECURSIVE n(at) AS (SELECT 1 UNION ALL SELECT at + 1 FROM n WHERE at < ?1)
             INSERT INTO teams SELECT 'team-' || at, 'org_default', 'Team ' || at, at, 1 FROM n",
            [size as i64],
        )?;
        Ok(Self { connection, size })
    }

    fn row(&self, i: usize, kind: &str) -> rusqlite::Result<()> {
        let sql = "INSERT INTO teams VALUES (?1, 'org_default', ?2, ?3, 1)";
        let mut statement = self.connection.prepare_cached(sql)?;
        let id = format!("01a20e03-5ac4-717a-8786-{kind}{i:011}");
        statement
            .execute(params![id, format!("{kind} {i}"), (self.size + i) as i64])
            .map(drop)
    }

    fn insert(&mut self, i: usize) -> Outcome<Duration> {
        let since = Instant::now();
        self.row(i, "a")?;
        Ok(since.elapsed())
    }

    fn insert_with_entry(&mut self, i: usize) -> Outcome<Duration> {
        let since = Instant::now();
        self.connection.execute_batch("BEGIN IMMEDIATE")?;
        self.row(i, "b")?;
        let sql = "INSERT INTO change (id, at, tool, rows) VALUES (?1, 7, 'entity/create-team', ?2)";
        let mut statement = self.connection.prepare_cached(sql)?;
        statement.execute(params![
            format!("01a20e03-5ad0-756f-8aa1-{i:012}"),
            "x".repeat(250)
        ])?;
        self.connection.execute_batch("COMMIT")?;
        Ok(since.elapsed())
    }
}
