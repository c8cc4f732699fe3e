//! Figures, compared with pgbench with the same statements on the same cluster: `cargo xtask postgres --speed 4`.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::json;
use tabellion_contracts::mcb::ROWS;
use tabellion_records::{Records, Start};
use tokio::runtime::Runtime;

use super::{Rows, call, cluster};

/// The largest number of servers of the same rows.
const MAX_SERVERS: usize = 4;
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
    let seconds = std::env::var("TABELLION_TEST_SECONDS")
        .ok()
        .and_then(|it| it.parse().ok());
    let Some(seconds) = seconds else {
        eprintln!("nothing is measured without TABELLION_TEST_SECONDS");
        return;
    };
    let time = Duration::from_secs(seconds);
    let cluster = cluster(&["max_connections=200"]);
    let rows = Rows::on(&cluster);
    let file = tempfile::tempdir().expect("a folder");
    let in_file = || Records::open(file.path(), &ROWS, Start::Serve).expect("a file");
    let servers: Vec<_> = (0..MAX_SERVERS).map(|_| Arc::new(rows.open())).collect();
    let in_file: Vec<_> = (0..MAX_SERVERS).map(|_| Arc::new(in_file())).collect();
    for callers in [1, 8, 32] {
        let raw = pgbench(&cluster, &rows.name(), callers, seconds);
        eprintln!("{callers} callers, pgbench {raw:.0} a second");
        for count in [1, 2, MAX_SERVERS] {
            for (engine, servers) in [("PostgreSQL", &servers), ("SQLite", &in_file)] {
                let (rate, median, p99) = measure(&servers[..count], callers, time);
                let ratio = rate / raw;
                eprintln!("  {engine:10}, {count} servers: {rate:6.0} ({ratio:.2}), {median:.1?}, {p99:.1?}");
            }
        }
    }
}

/// Returns the transactions a second that pgbench makes.
fn pgbench(cluster: &xtask::foreign::postgres::Cluster, database: &str, callers: usize, seconds: u64) -> f64 {
    let output = cluster
        .pgbench(database, SCRIPT, callers, seconds)
        .expect("pgbench");
    let rate = output
        .lines()
        .find_map(|line| line.strip_prefix("tps = ")?.split(' ').next()?.parse().ok());
    rate.unwrap_or_else(|| panic!("{output}"))
}

/// Returns the rows a second that callers create, and the median and the 99th percentile of their waits.
fn measure(servers: &[Arc<Records>], callers: usize, time: Duration) -> (f64, Duration, Duration) {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let runtime = Runtime::new().expect("a runtime");
    let begun = Instant::now();
    let mut waits = runtime.block_on(async {
        let callers: Vec<_> = (0..callers)
            .map(|caller| {
                let records = Arc::clone(&servers[caller % servers.len()]);
                tokio::spawn(async move {
                    let mut waits = vec![];
                    while begun.elapsed() < time {
                        let id = format!("p{}", NEXT.fetch_add(1, Ordering::Relaxed));
                        let data = json!({"name": id, "path": "p"});
                        let arguments = json!({"action": "create", "resource": "project", "project_id": id, "data": data});
                        let begun = Instant::now();
                        call(&records, "project", arguments, None).await.expect("a row");
                        waits.push(begun.elapsed());
                    }
                    waits
                })
            })
            .collect();
        let mut all = vec![];
        for caller in callers {
            all.extend(caller.await.expect("a caller"));
        }
        all
    });
    let took = begun.elapsed();
    waits.sort();
    #[expect(clippy::cast_precision_loss, reason = "figures")]
    let rate = waits.len() as f64 / took.as_secs_f64();
    (rate, waits[waits.len() / 2], waits[waits.len() * 99 / 100])
}
