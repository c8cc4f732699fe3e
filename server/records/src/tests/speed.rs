//! Figures, for comparison with bare SQLite: `cargo test --release -p tabellion-records -- --ignored --nocapture speed`.

use std::{
    fmt::Write as _,
    time::{Duration, Instant},
};

use rusqlite::{Connection, params};
use serde_json::json;
use tabellion_runtime::{
    CallContext,
    spec::Action::{Create, Get, List, Update},
};

use super::tracker::{Bench, call, called, open_file};

/// Number of measured calls.
const CALLS: usize = 400;

/// Returns the median and the 99th percentile.
fn percentiles(mut call: impl FnMut(usize)) -> (Duration, Duration) {
    let mut times: Vec<_> = (0..CALLS)
        .map(|at| {
            let start = Instant::now();
            call(at);
            start.elapsed()
        })
        .collect();
    times.sort();
    (times[CALLS / 2], times[CALLS * 99 / 100])
}

/// Inserts rows into a table like that of issues, with the same durability.
fn bare(folder: &std::path::Path) -> impl FnMut(usize) {
    let connection = Connection::open(folder.join("bare.db")).unwrap();
    connection
        .execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
             CREATE TABLE t (id TEXT PRIMARY KEY, project TEXT, title TEXT, at INTEGER) STRICT",
        )
        .unwrap();
    let mut count = 0;
    move |_| {
        count += 1;
        let mut insert = connection.prepare_cached("INSERT INTO t VALUES (?, 'p', 'A title', 7)").unwrap();
        insert.execute(params![format!("id-{count:08}-0123456789abcdef")]).unwrap();
    }
}

/// Writes the same rows, indexes and log entry, without any rule.
fn same(bench: &Bench) -> impl FnMut(usize) {
    bench.create("project", json!({"id": "p", "name": "One"}));
    let connection = Connection::open(&bench.records.file().path).unwrap();
    connection.execute_batch("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON").unwrap();
    let mut count = 100;
    move |_| {
        count += 1;
        let id = format!("id-{count:08}-0123456789abcdef");
        connection.execute_batch("BEGIN IMMEDIATE").unwrap();
        let sql = "INSERT INTO issues (id, org_id, project_id, number, title, status, pinned, leads, priority, labels, seq,
                   created_at, updated_at) VALUES (?1, 'org_default', 'p', ?2, 'A title', 'open', 0, 0, 0, '[]', ?2, 1, 1)";
        let mut insert = connection.prepare_cached(sql).unwrap();
        insert.execute(params![id, count]).unwrap();
        let sql = "INSERT INTO change (seq, id, at, tool, operation, rows, last, org)
                   VALUES (?1, ?2, 7, 'entity', 'create', ?3, ?1, '')";
        let mut log = connection.prepare_cached(sql).unwrap();
        log.execute(params![count, id, "x".repeat(500)]).unwrap();
        connection.execute_batch("COMMIT").unwrap();
    }
}

#[test]
#[ignore = "measures for minutes"]
fn speed() {
    let mut report = String::new();
    let bench = Bench::in_file();
    bench.create("project", json!({"id": "p", "name": "One"}));
    let context = CallContext::default();
    let mut bare = bare(bench.folder.path());
    let other = Bench::in_file();
    let mut same = same(&other);
    let mut ours = |_: usize| {
        let request = json!({"data": {"project_id": "p", "title": "A title"}});
        call(&bench.records, &context, "issue", Create, request).unwrap();
    };
    for round in 0..3 {
        let (theirs, alike) = (percentiles(&mut bare), percentiles(&mut same));
        let made = percentiles(&mut ours);
        let ratio = |theirs: (Duration, Duration)| made.0.as_secs_f64() / theirs.0.as_secs_f64();
        writeln!(
            report,
            "{round}: bare {theirs:?}, same rows {alike:?}, create {made:?}; ratios of medians {:.2}, {:.2}",
            ratio(theirs),
            ratio(alike)
        )
        .unwrap();
    }
    let size = |bench: &Bench| -> u64 {
        let files = std::fs::read_dir(bench.folder.path().join("data")).unwrap();
        files.map(|file| file.unwrap().metadata().unwrap().len()).sum()
    };
    writeln!(report, "{} bytes after {} creates", size(&bench), 3 * CALLS).unwrap();
    let update = percentiles(|at| {
        let request = json!({"id": "p", "data": {"open": at}});
        call(&bench.records, &context, "project", Update, request).unwrap();
    });
    writeln!(report, "update {update:?}").unwrap();
    many(&bench, &mut report);
    eprintln!("{report}");
}

/// Prints creates a second, and the median and 99th percentile of their times, with so many callers at once.
#[test]
#[ignore = "measures for half a minute"]
fn callers() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build();
    let runtime = runtime.unwrap();
    // Alternately, so both see the same disk: each change in its own transaction, and in groups.
    for (callers, max_time) in
        [1, 8, 32, 100].into_iter().flat_map(|callers| [(callers, Some(Duration::ZERO)), (callers, None)])
    {
        // The tasks need it as long as the runtime lives.
        let bench: &'static Bench = Box::leak(Box::new(Bench::in_file()));
        bench.create("project", json!({"id": "p", "name": "One"}));
        if let Some(max_time) = max_time {
            bench.records.file().writer.try_lock().unwrap().lock().max_time = max_time;
        }
        let how = max_time.map_or("in groups", |_| "each alone");
        let end = Instant::now() + Duration::from_secs(4);
        let tasks: Vec<_> = (0..callers)
            .map(|_| {
                runtime.spawn(async move {
                    let (context, mut times) = (CallContext::default(), vec![]);
                    while Instant::now() < end {
                        let start = Instant::now();
                        let request = json!({"data": {"project_id": "p", "title": "A title"}});
                        called(&bench.records, &context, "issue", Create, request).await.unwrap();
                        times.push(start.elapsed());
                    }
                    times
                })
            })
            .collect();
        let mut times: Vec<_> = runtime.block_on(async {
            let mut all = vec![];
            for task in tasks {
                all.extend(task.await.unwrap());
            }
            all
        });
        times.sort();
        let (count, at) = (times.len(), |share: usize| times[times.len() * share / 100]);
        eprintln!("{callers} callers, {how}: {} a second, {:?}, {:?}", count / 4, at(50), at(99));
        bench.records.check().unwrap();
    }
}

/// Measures with a million rows.
fn many(bench: &Bench, report: &mut String) {
    let connection = Connection::open(&bench.records.file().path).unwrap();
    connection
        .execute_batch(
            "WITH RECURSIVE n(at) AS (SELECT 1000000 UNION ALL SELECT at + 1 FROM n WHERE at < 1999999)
             INSERT INTO issues (id, org_id, project_id, number, title, status, pinned, leads, priority, labels, seq, created_at, updated_at)
             SELECT 'i' || at, 'org_default', 'p', at, 'Title ' || at, 'open', 0, 0, 0, '[]', at, 1, 1 FROM n",
        )
        .unwrap();
    drop(connection);
    let start = percentiles(|_| drop(open_file(bench.folder.path())));
    writeln!(report, "open with 1,000,000 rows {start:?}").unwrap();
    let empty = Bench::in_file();
    let start = percentiles(|_| drop(open_file(empty.folder.path())));
    writeln!(report, "open when empty {start:?}").unwrap();
    let context = CallContext::default();
    let get = percentiles(|at| {
        let request = json!({"id": format!("i{}", 1_000_000 + at * 2_000)});
        call(&bench.records, &context, "issue", Get, request).unwrap();
    });
    let one = Instant::now();
    let request = json!({"project_id": "p", "limit": 100});
    call(&bench.records, &context, "issue", List, request).unwrap();
    writeln!(report, "get {get:?}, list of 100 with its total {:?}", one.elapsed()).unwrap();
    let create = percentiles(|_| {
        let request = json!({"data": {"project_id": "p", "title": "A title"}});
        call(&bench.records, &context, "issue", Create, request).unwrap();
    });
    writeln!(report, "create beside 1,000,000 rows {create:?}").unwrap();
}
