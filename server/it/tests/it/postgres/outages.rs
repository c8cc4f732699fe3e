//! Acknowledged changes of a database that dies, fails over, has too few connections or a full disk, or is out of reach.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use serde_json::{Value, json};
use tabellion_records::{Records, Start};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    runtime::Runtime,
};

use xtask::foreign::postgres::{Cluster, Programs};

use super::{Random, Rows, call, cluster, proof::State, until};
use crate::torture::mount::Mount;

/// Number of times that the database is killed. `TABELLION_TEST_KILLS` has another.
const KILLS: u64 = 4;
const CALLERS: u64 = 8;

/// The answers to callers that created projects, by the ids.
#[derive(Default)]
struct Told {
    made: BTreeSet<String>,
    not_made: BTreeSet<String>,
    unknown: BTreeSet<String>,
}

/// Callers that create until they are stopped.
struct Load {
    callers: Vec<thread::JoinHandle<Told>>,
    is_over: Arc<AtomicBool>,
}

impl Load {
    fn begin(records: &Arc<Records>) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let callers = (0..CALLERS).map(|caller| {
            let (records, is_over) = (Arc::clone(records), Arc::clone(&is_over));
            thread::spawn(move || create(&records, caller, &is_over))
        });
        Self { callers: callers.collect(), is_over }
    }

    fn end(self) -> Told {
        self.is_over.store(true, Ordering::Release);
        let mut all = Told::default();
        for caller in self.callers {
            let told = caller.join().expect("a caller");
            all.made.extend(told.made);
            all.not_made.extend(told.not_made);
            all.unknown.extend(told.unknown);
        }
        all
    }
}

fn create(records: &Records, caller: u64, is_over: &AtomicBool) -> Told {
    let runtime = Runtime::new().expect("a runtime");
    let mut told = Told::default();
    let mut number = 0;
    while !is_over.load(Ordering::Acquire) {
        number += 1;
        let id = format!("c{caller}.{number}");
        match runtime.block_on(add(records, &id, None)) {
            Ok(_) => told.made.insert(id),
            Err(error) if error["rule"] == "unknown_outcome" => told.unknown.insert(id),
            Err(error) => {
                let advice = ["try again", "free some space", "repeat the change"];
                let is_told = |message: &str| advice.iter().any(|advice| message.contains(advice));
                assert!(error["message"].as_str().is_some_and(is_told), "{error}");
                thread::sleep(Duration::from_millis(5));
                told.not_made.insert(id)
            }
        };
    }
    told
}

async fn add(records: &Records, id: &str, key: Option<&str>) -> Result<Value, Value> {
    let data = json!({"name": id, "path": "p"});
    let arguments = json!({"action": "create", "resource": "project", "project_id": id, "data": data});
    call(records, "project", arguments, key).await
}

/// Compares the answers with the rows.
fn judge(records: &Records, told: &Told) {
    let mut export = vec![];
    records.export(&mut export).expect("an export");
    let (_, wrong) = State::replay(&String::from_utf8(export.clone()).expect("text"));
    assert_eq!(wrong, Vec::<String>::new());
    let lines = export.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let rows =
        lines.filter_map(|line| serde_json::from_slice::<Value>(line).expect("a line").get("row").cloned());
    let projects = rows.filter(|row| row["entity"] == "project");
    let there: BTreeSet<_> = projects.filter_map(|row| Some(row["row"]["id"].as_str()?.to_owned())).collect();
    let lost: Vec<_> = told.made.difference(&there).collect();
    assert!(lost.is_empty(), "acknowledged and lost: {lost:?}");
    let denied: Vec<_> = told.not_made.intersection(&there).collect();
    assert!(denied.is_empty(), "said not to be made, and there: {denied:?}");
    let (made, not_made, unknown) = (told.made.len(), told.not_made.len(), told.unknown.len());
    eprintln!("{made} acknowledged, {not_made} refused, {unknown} unknown; none wrong");
    assert!(made > 0);
}

#[test]
#[ignore = "needs PostgreSQL: `cargo xtask postgres`"]
fn what_is_acknowledged_outlives_the_death_of_the_database() {
    let mut cluster = cluster(&[]);
    let rows = Rows::on(&cluster);
    let records = Arc::new(rows.open());
    let load = Load::begin(&records);
    let (random, kills) = (Random::new(7), std::env::var("TABELLION_TEST_KILLS"));
    for _ in 0..kills.ok().and_then(|it| it.parse().ok()).unwrap_or(KILLS) {
        thread::sleep(Duration::from_millis(400 + random.below(600)));
        cluster.kill();
        thread::sleep(Duration::from_millis(random.below(300)));
        cluster.run().expect("it starts again");
    }
    thread::sleep(Duration::from_millis(300));
    judge(&records, &load.end());
}

#[test]
#[ignore = "needs PostgreSQL: `cargo xtask postgres`"]
fn a_synchronous_standby_that_is_promoted_has_all_that_was_acknowledged() {
    let mut primary = cluster(&["synchronous_standby_names=*", "wal_level=replica"]);
    // Until there is a standby, a commit would wait for one.
    let standby = primary.standby(&[]).expect("a standby");
    primary.create("team").expect("a database");
    let hosts = format!("127.0.0.1:{},127.0.0.1:{}", primary.port(), standby.port());
    let rows = Rows::new(format!("postgres://postgres@{hosts}/team"));
    let records = Arc::new(rows.open());
    let load = Load::begin(&records);
    thread::sleep(Duration::from_secs(1));
    primary.kill();
    standby.promote().expect("it becomes the primary");
    // The calls continue there without a restart.
    let runtime = Runtime::new().expect("a runtime");
    until("calls are answered by the new primary", || {
        runtime.block_on(add(&records, "after the failover", None)).is_ok()
            || runtime.block_on(add(&records, "after.the.failover", None)).is_ok()
    });
    judge(&records, &load.end());
}

#[test]
#[ignore = "needs PostgreSQL: `cargo xtask postgres`"]
fn a_database_that_is_away_is_said_and_nothing_changes() {
    let mut cluster = cluster(&["max_connections=6", "superuser_reserved_connections=0"]);
    let rows = Rows::on(&cluster);
    let records = Arc::new(rows.open());
    let load = Load::begin(&records);
    thread::sleep(Duration::from_secs(2));
    // More callers than connections: each is answered, or told to try again.
    let told = load.end();
    judge(&records, &told);
    assert!(records.is_reachable());
    cluster.kill();
    assert!(!records.is_reachable());
    let runtime = Runtime::new().expect("a runtime");
    let error = runtime.block_on(add(&records, "x", None)).expect_err("it is away");
    let message = error["message"].as_str().expect("a message");
    assert!(message.contains("try again"), "{message}");
    let failure = Records::open(rows.place(), &tabellion_contracts::mcb::ROWS, Start::Existing)
        .expect_err("it is away");
    assert!(failure.message.contains("can't be reached"), "{failure}");
    cluster.run().expect("it starts again");
    runtime.block_on(add(&records, "x", None)).expect("it is back");
    assert!(records.is_reachable());
}

#[test]
#[ignore = "needs PostgreSQL: `cargo xtask postgres`"]
fn calls_with_one_key_at_the_same_time_have_one_answer() {
    let cluster = cluster(&[]);
    let rows = Rows::on(&cluster);
    let servers = [Arc::new(rows.open()), Arc::new(rows.open())];
    let runtime = Runtime::new().expect("a runtime");
    for round in 0..20 {
        let id = format!("p{round}");
        runtime.block_on(add(&servers[0], &id, None)).expect("a project");
        let delete = json!({"action": "delete", "resource": "project", "project_id": id});
        let answers: Vec<_> = runtime.block_on(async {
            let calls = (0..6).map(|caller| {
                let (records, delete) = (Arc::clone(&servers[caller % 2]), delete.clone());
                let key = format!("key-{round}");
                tokio::spawn(async move { call(&records, "project", delete, Some(&key)).await })
            });
            let mut answers = vec![];
            for call in calls.collect::<Vec<_>>() {
                answers.push(call.await.expect("a call"));
            }
            answers
        });
        assert!(answers.iter().all(|answer| *answer == answers[0] && answer.is_ok()), "{answers:?}");
    }
    assert_eq!(servers[0].check().expect("the log gives the tables").changes, 41);
}

/// A change that no standby confirms may be made later: in the end its caller learns that the outcome is unknown.
#[test]
#[ignore = "needs PostgreSQL: `cargo xtask postgres`"]
fn a_change_that_no_standby_confirms_is_unknown_in_the_end() {
    let cluster = cluster(&[]);
    let rows = Rows::on(&cluster);
    let records = rows.open();
    let runtime = Runtime::new().expect("a runtime");
    runtime.block_on(add(&records, "before", None)).expect("a project");
    let set = |value: &str| {
        let sql = format!("ALTER SYSTEM SET synchronous_standby_names = '{value}'");
        for sql in [&*sql, "SELECT pg_reload_conf()"] {
            assert!(cluster.psql("postgres", sql).expect("psql").status().expect("it runs").success());
        }
    };
    set("nowhere");
    let told = runtime.block_on(add(&records, "late", Some("late"))).expect_err("it is not confirmed");
    assert_eq!(told["rule"], "unknown_outcome", "{told}");
    set("");
    // It was made all the same, and once.
    until("the standby is no longer waited for", || {
        runtime.block_on(add(&records, "late", Some("late"))).is_ok()
    });
    assert_eq!(records.check().expect("the log gives the tables").changes, 3);
}

#[test]
#[ignore = "needs PostgreSQL: `cargo xtask postgres`"]
fn a_full_disk_of_the_database_changes_nothing_by_half() {
    let Some(disk) = Mount::memory("160m") else { return };
    let programs = Programs::of_environment().expect("`cargo xtask postgres` runs these tests");
    // For the user without rights.
    let around = disk.path().parent().expect("a folder");
    std::fs::set_permissions(around, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("permitted");
    let cluster = Cluster::start_in(&programs, disk.path(), &["max_wal_size=64MB", "min_wal_size=32MB"])
        .expect("a cluster");
    let rows = Rows::on(&cluster);
    let records = Arc::new(rows.open());
    let load = Load::begin(&records);
    thread::sleep(Duration::from_millis(500));
    let ballast = disk.path().join("ballast");
    let mut file = std::fs::File::create(&ballast).expect("a file");
    let block = vec![1; 1 << 16];
    while std::io::Write::write_all(&mut file, &block).is_ok() {}
    thread::sleep(Duration::from_secs(2));
    drop(file);
    std::fs::remove_file(&ballast).expect("removed");
    let runtime = Runtime::new().expect("a runtime");
    let mut cluster = cluster;
    until("changes are made again", || {
        // Without space for its log of writes, the server ends, and its operator starts it again.
        cluster.run().expect("it runs");
        runtime.block_on(add(&records, "after", None)).is_ok()
    });
    judge(&records, &load.end());
}

/// Forwards connections to a server. While `is_cutting`, a client that sends a commit loses its connection, and the server gets the
/// commit later.
struct Proxy {
    address: String,
    is_cutting: Arc<AtomicBool>,
    _runtime: Runtime,
}

impl Proxy {
    fn before(port: u16) -> Self {
        let runtime = Runtime::new().expect("a runtime");
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a port");
        let address = format!("postgres://postgres@{}", listener.local_addr().expect("an address"));
        let is_cutting = Arc::new(AtomicBool::new(false));
        let cutting = Arc::clone(&is_cutting);
        runtime.spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(forward(client, port, Arc::clone(&cutting)));
            }
        });
        Self { address, is_cutting, _runtime: runtime }
    }
}

async fn forward(client: TcpStream, port: u16, is_cutting: Arc<AtomicBool>) {
    let server = TcpStream::connect(("127.0.0.1", port)).await.expect("the server");
    let ((mut from_client, mut to_client), (mut from_server, mut to_server)) =
        (client.into_split(), server.into_split());
    let back = tokio::spawn(async move { tokio::io::copy(&mut from_server, &mut to_client).await });
    let mut bytes = vec![0; 1 << 16];
    while let Ok(count @ 1..) = from_client.read(&mut bytes).await {
        let has_commit = bytes[..count].windows(7).any(|part| part == b"COMMIT\0");
        if !has_commit || !is_cutting.load(Ordering::Acquire) {
            let _ = to_server.write_all(&bytes[..count]).await;
            continue;
        }
        // The client learns it now, and the server gets the commit later.
        back.abort();
        let _ = back.await;
        drop(from_client);
        tokio::time::sleep(Duration::from_millis(300)).await;
        let _ = to_server.write_all(&bytes[..count]).await;
        tokio::time::sleep(Duration::from_millis(600)).await;
        return;
    }
}

#[test]
#[ignore = "needs PostgreSQL: `cargo xtask postgres`"]
fn a_commit_that_arrives_after_its_connection_was_lost_is_found_out() {
    let cluster = cluster(&[]);
    cluster.create("team").expect("a database");
    let proxy = Proxy::before(cluster.port());
    let rows = Rows::new(format!("{}/team", proxy.address));
    let records = rows.open();
    let runtime = Runtime::new().expect("a runtime");
    let mut outcomes = BTreeMap::new();
    for number in 0..10 {
        let (id, key) = (format!("p{number}"), format!("key-{number}"));
        proxy.is_cutting.store(true, Ordering::Release);
        let cutting = Arc::clone(&proxy.is_cutting);
        // The connections by which the outcome is found out are not cut.
        let stop = thread::spawn(move || {
            thread::sleep(Duration::from_millis(150));
            cutting.store(false, Ordering::Release);
        });
        let told = runtime.block_on(add(&records, &id, Some(&key)));
        stop.join().expect("a thread");
        // A repeated call has the same answer, and makes no row.
        let again = runtime.block_on(add(&records, &id, Some(&key)));
        if let Ok(told) = &told {
            assert_eq!(again.as_ref().ok(), Some(told));
        }
        outcomes.insert(id, told.is_ok());
    }
    thread::sleep(Duration::from_secs(1));
    let checked = records.check().expect("the log gives the tables");
    assert_eq!(checked.changes, 11, "{outcomes:?}");
    assert!(outcomes.values().any(|is_made| *is_made), "{outcomes:?}");
}
