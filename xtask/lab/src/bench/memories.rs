//! The memory of the contract mcb: storing, finding, timelines and contexts among many observations, and many clients of two processes.

use std::{
    collections::HashMap,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use rusqlite::Connection;
use serde_json::{Value, json};

use super::{
    pipe::Pipe,
    table::{Row, Table},
    texts::Texts,
};
use xtask::{Outcome, root};

const CALL: &str = "tools/call";
/// Number of calls in flight while observations are stored without measurement.
const FILLING: usize = 64;
/// Number of clients of each of two processes.
const CLIENTS: usize = 40;
/// Number of words of an observation.
const LENGTH: usize = 30;
/// Number of sessions among which observations are divided.
const SESSIONS: usize = 500;

/// Measures with each number of observations.
pub(super) fn all(within: &Path, sizes: &[usize], calls: usize, crowd: Duration) -> Outcome<Vec<Table>> {
    let mut tables = Vec::new();
    for size in sizes {
        let folder = tempfile::tempdir_in(root().join(within))?;
        tables.push(measure(folder.path(), *size, calls)?);
    }
    let folder = tempfile::tempdir_in(root().join(within))?;
    tables.push(together(folder.path(), crowd)?);
    Ok(tables)
}

fn measure(data: &Path, size: usize, calls: usize) -> Outcome<Table> {
    let mut table = Table::new(format!("{size} observations"));
    let mut texts = Texts::from_seed(1);
    fill(data, size, &mut texts)?;

    let mut server = Pipe::serve(data)?;
    let first = server.request(CALL, &search(&texts.words(3), None))?;
    table.note("the first search, which indexes all of them", format!("{:.1} s", first.as_secs_f64()));
    server.close()?;
    let mut server = Pipe::serve(data)?;
    table.note("memory at rest", format!("{:.1} MB (aim ≤ 60 MB at 100,000)", server.megabytes()?));

    let mut store = Row::alone("store, durable");
    let mut fresh = Row::alone("search right after a store");
    let mut found = Row::alone("search, 1 to 5 words (aim ≤ 20 ms p95 at 100,000)");
    let mut within = Row::alone("search, 1 to 5 words, of one session");
    for i in 0..calls {
        store.ours(server.request(CALL, &store_of(&texts.words(LENGTH), i))?);
        fresh.ours(server.request(CALL, &search(&texts.words(1 + i % 5), None))?);
    }
    for i in 0..calls * 2 {
        found.ours(server.request(CALL, &search(&texts.words(1 + i % 5), None))?);
        within.ours(server.request(CALL, &search(&texts.words(1 + i % 5), Some(i)))?);
    }
    let mut timeline = Row::alone("timeline, 10 before and after");
    let mut inject = Row::alone("inject, 2,000 tokens");
    let ids = ids(data, calls)?;
    for id in &ids {
        let around = json!({ "action": "timeline", "resource": "observation", "anchor_id": id, "depth_before": 10, "depth_after": 10 });
        timeline.ours(server.request(CALL, &call("memory", around, 0))?);
        let context = json!({ "action": "inject", "resource": "observation", "query": texts.words(3), "max_tokens": 2000 });
        inject.ours(server.request(CALL, &call("memory", context, 0))?);
    }
    for row in [store, fresh, found, within, timeline, inject] {
        table.add(row);
    }
    table.note("memory after that", format!("{:.1} MB", server.megabytes()?));
    server.close()?;
    println!("{table}");
    Ok(table)
}

/// Stores `size` observations.
fn fill(data: &Path, size: usize, texts: &mut Texts) -> Outcome {
    let mut server = Pipe::serve(data)?;
    for i in 0..size {
        server.post(CALL, &store_of(&texts.words(LENGTH), i))?;
        if i >= FILLING {
            server.answer()?;
        }
    }
    for _ in 0..size.min(FILLING) {
        server.answer()?;
    }
    server.close()
}

/// Returns the ids of observations that are far apart.
fn ids(data: &Path, count: usize) -> Outcome<Vec<String>> {
    let connection = Connection::open(data.join("mcb.db"))?;
    let sql = "SELECT id FROM observations ORDER BY seq * 7919 % 1000003 LIMIT ?1";
    let mut statement = connection.prepare(sql)?;
    let ids = statement.query_map([count as i64], |row| row.get(0))?;
    Ok(ids.collect::<Result<_, _>>()?)
}

/// Two processes of one data folder, each with many clients that store, and search now and then. Every acknowledged observation must be
/// there.
fn together(data: &Path, long: Duration) -> Outcome<Table> {
    // So that both find the tables.
    Pipe::serve(data)?.close()?;
    let until = Instant::now() + long;
    let crowds = thread::scope(|scope| {
        let crowds = [0, 1]
            .map(|which| scope.spawn(move || crowd(data, which, until).map_err(|error| error.to_string())));
        crowds.map(|crowd| crowd.join().unwrap_or_else(|_| Err("the clients failed".into())))
    });
    let mut table = Table::new(format!("2 processes, {CLIENTS} clients each, {} s", long.as_secs()));
    let mut stored = Row::alone("store, durable");
    let mut found = Row::alone("search");
    let mut acknowledged = Vec::new();
    for crowd in crowds {
        let crowd = crowd?;
        crowd.stores.iter().for_each(|time| stored.ours(*time));
        crowd.searches.iter().for_each(|time| found.ours(*time));
        acknowledged.extend(crowd.acknowledged);
    }
    let connection = Connection::open(data.join("mcb.db"))?;
    let mut is_there = connection.prepare("SELECT 1 FROM observations WHERE id = ?1")?;
    let mut lost = 0;
    for id in &acknowledged {
        lost += usize::from(!is_there.exists([id])?);
    }
    if lost > 0 {
        return Err(
            format!("{lost} of {} acknowledged observations are not there", acknowledged.len()).into()
        );
    }
    let rate = acknowledged.len() as f64 / long.as_secs_f64();
    table.note("acknowledged, and there", format!("{} ({rate:.0} a second)", acknowledged.len()));
    table.add(stored);
    table.add(found);
    println!("{table}");
    Ok(table)
}

/// Measurements of a process's clients.
#[derive(Default)]
struct Crowd {
    stores: Vec<Duration>,
    searches: Vec<Duration>,
    /// Ids of observations.
    acknowledged: Vec<String>,
}

/// Makes the calls of the clients of a process: each has one in flight, a search after each ninth store.
fn crowd(data: &Path, which: u64, until: Instant) -> Outcome<Crowd> {
    let mut server = Pipe::serve(data)?;
    let mut texts = Texts::from_seed(which + 2);
    let mut waiting = HashMap::new();
    let mut crowd = Crowd::default();
    let mut made = 0;
    let mut next = |server: &mut Pipe, client: usize| -> Outcome<(u64, (usize, Instant))> {
        made += 1;
        let request = match made % 10 {
            0 => search(&texts.words(2), None),
            _ => store_of(&texts.words(LENGTH), client),
        };
        let since = Instant::now();
        Ok((server.post(CALL, &request)?, (client, since)))
    };
    for client in 0..CLIENTS {
        waiting.extend([next(&mut server, client)?]);
    }
    while !waiting.is_empty() {
        let answer = server.answer()?;
        let id = answer["id"].as_u64().unwrap_or_default();
        let (client, since) = waiting.remove(&id).ok_or("an answer to no request")?;
        match answer["result"]["structuredContent"]["observation_id"].as_str() {
            Some(id) => {
                crowd.stores.push(since.elapsed());
                crowd.acknowledged.push(id.to_owned());
            }
            None => crowd.searches.push(since.elapsed()),
        }
        if Instant::now() < until {
            waiting.extend([next(&mut server, client)?]);
        }
    }
    server.close()?;
    Ok(crowd)
}

fn session(i: usize) -> String {
    format!("session-{}", i % SESSIONS)
}

fn call(tool: &str, arguments: Value, session: usize) -> Value {
    let meta = json!({ "session_id": self::session(session), "project_id": "bench" });
    json!({ "name": tool, "arguments": arguments, "_meta": meta })
}

fn store_of(text: &str, session: usize) -> Value {
    let data =
        json!({ "content": text, "observation_type": "context", "tags": [format!("tag-{}", session % 50)] });
    call("memory", json!({ "action": "store", "resource": "observation", "data": data }), session)
}

fn search(query: &str, session: Option<usize>) -> Value {
    let mut arguments = json!({ "resource": "memory", "query": query });
    if let Some(session) = session {
        arguments["session_id"] = self::session(session).into();
    }
    call("search", arguments, 0)
}
