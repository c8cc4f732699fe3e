//! The least that a server over stdio can do with rows: a loop over lines, and SQLite with nothing before it, as durable as Tabellion.
//! It checks nothing; benchmarks measure servers beside it.

use std::{
    env,
    io::{self, BufRead, Write},
};

use rusqlite::{Connection, params};
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = env::args_os().skip(1);
    let file = arguments.next().expect("the file to create");
    let size = arguments.next().and_then(|size| size.into_string().ok());
    let size: i64 = size.expect("the number of rows").parse()?;
    let teams = Teams::create(Connection::open(file)?, size)?;
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let request: Value = serde_json::from_str(&line?)?;
        if request.get("id").is_none() {
            continue;
        }
        let result = match request["method"].as_str() {
            Some("tools/call") => {
                let row = teams.call(&request["params"])?;
                json!({ "content": [{ "type": "text", "text": row.to_string() }], "structuredContent": row })
            }
            _ => json!({ "tools": [] }),
        };
        let answer = json!({ "jsonrpc": "2.0", "id": request["id"], "result": result });
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    Ok(())
}

struct Teams {
    connection: Connection,
    size: i64,
}

impl Teams {
    fn create(connection: Connection, size: i64) -> rusqlite::Result<Self> {
        connection.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA fullfsync = ON;
             CREATE TABLE teams (id TEXT, org_id TEXT, name TEXT, seq INTEGER, created_at INTEGER, PRIMARY KEY (org_id, id)) STRICT;
             CREATE UNIQUE INDEX by_name ON teams (org_id, name);
             CREATE INDEX by_seq ON teams (org_id, seq);
             CREATE TABLE change (seq INTEGER PRIMARY KEY, id TEXT, at INTEGER, tool TEXT, rows TEXT) STRICT",
        )?;
        connection.execute(
            "WITH RECURSIVE n(at) AS (SELECT 1 UNION ALL SELECT at + 1 FROM n WHERE at < ?1)
             INSERT INTO teams SELECT 'team-' || at, 'org_default', 'Team ' || at, at, 1 FROM n WHERE at <= ?1",
            [size],
        )?;
        Ok(Self { connection, size })
    }

    fn call(&self, params: &Value) -> rusqlite::Result<Value> {
        let argument = |name: &str| params["arguments"][name].as_str().unwrap_or_default();
        match params["name"].as_str() {
            Some("insert") => self.insert(params["arguments"]["i"].as_i64().unwrap_or_default(), false),
            Some("insert_logged") => self.insert(params["arguments"]["i"].as_i64().unwrap_or_default(), true),
            Some("get") => {
                let sql = "SELECT * FROM teams WHERE org_id = 'org_default' AND id = ?1";
                let mut statement = self.connection.prepare_cached(sql)?;
                statement.query_one([argument("id")], team)
            }
            _ => {
                let sql = "SELECT * FROM teams WHERE org_id = 'org_default' ORDER BY seq LIMIT 1000";
                let mut statement = self.connection.prepare_cached(sql)?;
                let rows: Vec<_> = statement.query_map([], team)?.collect::<Result<_, _>>()?;
                let mut count = self
                    .connection
                    .prepare_cached("SELECT count(*) FROM teams WHERE org_id = 'org_default'")?;
                let total: i64 = count.query_one([], |row| row.get(0))?;
                Ok(json!({ "items": rows, "total": total }))
            }
        }
    }

    fn insert(&self, i: i64, is_logged: bool) -> rusqlite::Result<Value> {
        let id = format!("01a20e03-5ac4-717a-8786-{is_logged:1}{i:011}", is_logged = u8::from(is_logged));
        let name = format!("{is_logged} {i}");
        if is_logged {
            self.connection.execute_batch("BEGIN IMMEDIATE")?;
        }
        let sql = "INSERT INTO teams VALUES (?1, 'org_default', ?2, ?3, 1)";
        let mut statement = self.connection.prepare_cached(sql)?;
        statement.execute(params![id, name, self.size + i])?;
        if is_logged {
            let sql = "INSERT INTO change (id, at, tool, rows) VALUES (?1, 7, 'entity/create-team', ?2)";
            let mut statement = self.connection.prepare_cached(sql)?;
            statement.execute(params![format!("01a20e03-5ad0-756f-8aa1-{i:012}"), "x".repeat(250)])?;
            self.connection.execute_batch("COMMIT")?;
        }
        Ok(json!({ "id": id, "org_id": "org_default", "name": name, "created_at": 1, "seq": self.size + i }))
    }
}

fn team(row: &rusqlite::Row<'_>) -> rusqlite::Result<Value> {
    Ok(json!({
        "id": row.get::<_, String>(0)?,
        "org_id": row.get::<_, String>(1)?,
        "name": row.get::<_, String>(2)?,
        "created_at": row.get::<_, i64>(4)?,
        "seq": row.get::<_, i64>(3)?,
    }))
}
