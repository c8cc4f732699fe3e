//! Figures, compared with pgbench with the same statements on the same cluster: `cargo xtask postgres --speed 4`.

use std::{
    io::{BufRead as _, BufReader, Read as _},
    process::{Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::json;
use tabellion_contracts::mcb::ROWS;
use tabellion_records::{Address, Location, Records, Start};
use tokio::runtime::Runtime;

use super::{Rows, call, cluster};

/// Environment variable that makes a process one server of the measurement: place, number of callers, seconds.
const SERVER: &str = "TABELLION_TEST_SERVER";
/// Beginning of the lines that a server of the measurement prints for it; the test harness prints others.
const SAYS: &str = "said: ";
/// The statements of creating a project, for pgbench: one round trip a statement.
const SCRIPT: &str = r"
\set id random(1, 1000000000000)
BEGIN;
SELECT pg_advisory_xact_lock_shared(1), value FROM tabellion_mcb.meta WHERE name = 'generation';
SELECT * FROM tabellion_mcb.orgs WHERE id = 'org_default';
SELECT * FROM tabellion_mcb.projects WHERE org_id = 'org_default' AND id = 'b' || :id;
SELECT EXISTS (SELECT 1 FROM tabellion_mcb.removed WHERE entity = 'project' AND key = 'b' || :id);
SELECT * FROM tabellion_mcb.projects WHERE org_id = 'org_default' AND sha256(replace(name, '\', '\\')::bytea) = sha256(replace('b' || :id, '\', '\\')::bytea) LIMIT 2;
INSERT INTO tabellion_mcb.projects (org_id, id, name, path, created_at, updated_at, seq)
    VALUES ('org_default', 'b' || :id, 'b' || :id, 'p', 1, 1, nextval('tabellion_mcb.row_seq'));
INSERT INTO tabellion_mcb.change SELECT nextval('tabellion_mcb.change_seq'), 'b' || :id, 1, 'project', 'create', repeat('x', 400), 1, '';
COMMIT;
";

#[test]
#[ignore = "measures; see the module"]
fn speed_of_creating_rows() {
    let seconds = std::env::var("TABELLION_TEST_SECONDS").ok().and_then(|it| it.parse().ok());
    let Some(seconds) = seconds else {
        eprintln!("nothing is measured without TABELLION_TEST_SECONDS");
        return;
    };
    let cluster = cluster(&["max_connections=200"]);
    let rows = Rows::on(&cluster);
    drop(rows.open());
    let file = tempfile::tempdir().expect("a folder");
    let file = file.path().to_str().expect("text");
    for callers in [1, 8, 32] {
        let raw = pgbench(&cluster, &rows.name(), callers, seconds);
        eprintln!("{callers} callers, pgbench {raw:.0} a second");
        for servers in [1, 2, 4] {
            for (engine, place) in [("PostgreSQL", &*rows.address), ("SQLite", file)] {
                let (rate, median, p99) = measure(place, servers, callers, seconds);
                let ratio = rate / raw;
                eprintln!(
                    "  {engine:10}, {servers} servers: {rate:6.0} ({ratio:.2}), {median:.1?}, {p99:.1?}"
                );
            }
        }
    }
}

/// Returns the transactions a second that pgbench makes.
fn pgbench(cluster: &xtask::foreign::postgres::Cluster, database: &str, callers: usize, seconds: u64) -> f64 {
    let output = cluster.pgbench(database, SCRIPT, callers, seconds).expect("pgbench");
    let rate = output.lines().find_map(|line| line.strip_prefix("tps = ")?.split(' ').next()?.parse().ok());
    rate.unwrap_or_else(|| panic!("{output}"))
}

/// Returns the rows a second that the callers of several servers, each a process, create in one place, and the median and the 99th
/// percentile of their waits.
fn measure(place: &str, servers: usize, callers: usize, seconds: u64) -> (f64, Duration, Duration) {
    let mut servers: Vec<_> = (0..servers.min(callers))
        .map(|number| {
            let callers = (callers - number).div_ceil(servers);
            Command::new(std::env::current_exe().expect("this program"))
                .args(["--ignored", "--exact", "--nocapture", "postgres::speed::a_server"])
                .env(SERVER, json!([place, callers, seconds]).to_string())
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .expect("it starts")
        })
        .collect();
    let mut outputs: Vec<_> = servers
        .iter_mut()
        .map(|server| BufReader::new(server.stdout.take().expect("piped")).lines())
        .collect();
    let mut says = |number: usize| {
        let mut lines = outputs[number].by_ref().map(|line| line.expect("text"));
        lines.find_map(|line| Some(line.split_once(SAYS)?.1.to_owned())).expect("it says so")
    };
    let numbers = 0..servers.len();
    assert!(numbers.clone().all(|number| says(number) == "ready"));
    // They begin at the end of their input.
    servers.iter_mut().for_each(|server| drop(server.stdin.take()));
    let waits = numbers.map(|number| serde_json::from_str::<Vec<u64>>(&says(number)).expect("waits"));
    let mut waits: Vec<_> = waits.collect::<Vec<_>>().concat();
    for mut server in servers {
        assert!(server.wait().expect("it ends").success());
    }
    waits.sort_unstable();
    let wait = |share: usize| Duration::from_micros(waits[waits.len() * share / 100]);
    #[expect(clippy::cast_precision_loss, reason = "figures")]
    let rate = waits.len() as f64 / seconds as f64;
    (rate, wait(50), wait(99))
}

/// One server of [`measure`], in a process of its own. Prints the waits of its callers, in microseconds.
#[test]
#[ignore = "a part of the measurement"]
fn a_server() {
    let Ok(told) = std::env::var(SERVER) else { return };
    let (place, callers, seconds): (String, u64, u64) = serde_json::from_str(&told).expect("a place");
    let derived = tempfile::tempdir().expect("a folder");
    let location = match Address::parse(&place) {
        Ok(address) => Location::Postgres { address, derived: derived.path().into() },
        Err(_) => Location::Folder(place.into()),
    };
    let records = Arc::new(Records::open(location, &ROWS, Start::Serve).expect("rows"));
    println!("{SAYS}ready");
    std::io::stdin().read_to_end(&mut vec![]).expect("the end of the input");
    let time = Duration::from_secs(seconds);
    let runtime = Runtime::new().expect("a runtime");
    let begun = Instant::now();
    let callers: Vec<_> = (0..callers)
        .map(|caller| {
            let records = Arc::clone(&records);
            runtime.spawn(async move {
                let mut waits = vec![];
                while begun.elapsed() < time {
                    let id = format!("p{}-{caller}-{}", std::process::id(), waits.len());
                    let data = json!({"name": id, "path": "p"});
                    let arguments =
                        json!({"action": "create", "resource": "project", "project_id": id, "data": data});
                    let begun = Instant::now();
                    call(&records, "project", arguments, None).await.expect("a row");
                    waits.push(begun.elapsed().as_micros());
                }
                waits
            })
        })
        .collect();
    let waits: Vec<_> =
        callers.into_iter().flat_map(|caller| runtime.block_on(caller).expect("a caller")).collect();
    println!("{SAYS}{}", json!(waits));
}
