//! Servers of Tabellion that share one database.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::{TcpListener, TcpStream},
    process::{Command, Stdio},
};

use serde_json::{Map, Value, json};
use tabellion_conformance::Target;
use tabellion_contracts::mcb::ROWS;
use tabellion_records::{Address, Records, Start};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use xtask::foreign::postgres::{Cluster, Programs, public_folder, unprivileged};

use super::{Rows, cluster, proof::prove, until};
use crate::{
    documented,
    support::{Running, Server, TABELLION, ended, exited},
};

fn serve(rows: &Rows) -> Target {
    // Provenance is that of a work tree.
    let made = Command::new("git").args(["init", "--quiet"]).current_dir(rows.derived.path()).status();
    assert!(made.expect("git").success());
    let mut command = tabellion(rows);
    command.args(["serve", "--contract", "mcb"]).stderr(Stdio::inherit());
    Server::start(&mut command).target
}

fn tabellion(rows: &Rows) -> Command {
    let mut command = Command::new(TABELLION);
    command
        .env("TABELLION_DATA", &rows.address)
        .env("XDG_DATA_HOME", rows.derived.path())
        .env("TABELLION_MODEL", rows.derived.path().join("none"))
        .current_dir(rows.derived.path());
    command
}

fn call(target: &mut Target, tool: &str, arguments: Value) -> Value {
    let answer = target.call(tool, arguments, Map::new()).expect("an answer");
    let found = &answer["result"]["structuredContent"];
    assert!(found.is_object(), "{answer}");
    found.clone()
}

/// Runs a command for people. Returns its JSON.
fn run(rows: &Rows, arguments: &[&str]) -> Value {
    let (code, out, said) = ended(tabellion(rows).args(arguments).arg("--json"));
    assert_eq!(code, Some(0), "{arguments:?}: {said}");
    serde_json::from_str(&out).expect("JSON")
}

/// Starts two servers. What one of them stores is found by the other, by the search that is returned with them.
fn share_a_memory(rows: &Rows) -> ([Target; 2], Value) {
    let (mut one, mut two) = (serve(rows), serve(rows));
    let project = json!({"action": "create", "resource": "project", "project_id": "p", "data": {"name": "P", "path": "p"}});
    assert_eq!(call(&mut one, "project", project)["id"], "p");
    let stored = json!({"action": "store", "resource": "observation", "project_id": "p",
        "data": {"content": "The fjord freezes in January", "observation_type": "context"}});
    let stored = call(&mut one, "memory", stored);
    assert!(stored["id"].is_string() || stored["observation_id"].is_string(), "{stored}");
    let search = json!({"resource": "memory", "query": "fjord"});
    let found = call(&mut two, "search", search.clone());
    assert!(found.to_string().contains("The fjord freezes in January"), "{found}");
    ([one, two], search)
}

#[test]
#[ignore = "needs PostgreSQL: `cargo xtask postgres`"]
fn a_team_shares_its_memory() {
    let mut cluster = cluster(&[]);
    let rows = Rows::on(&cluster);
    let ([one, mut two], search) = share_a_memory(&rows);
    // A server that is killed leaves nothing half done; the other goes on, also when the database has died.
    drop(one);
    cluster.kill();
    cluster.run().expect("it starts again");
    until("the other server finds the database again", || {
        let answer = two.call("search", search.clone(), Map::new()).expect("an answer");
        answer["result"].to_string().contains("fjord")
    });
    assert!(exited(two).success());
    // The same data, whichever database has it.
    let checked = run(&rows, &["data", "check"]);
    let export = tabellion(&rows).args(["data", "export"]).output().expect("it runs");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("export");
    std::fs::write(&file, &export.stdout).expect("written");
    let data = folder.path().join("data");
    let (file, data) = (file.to_str().expect("text"), data.to_str().expect("text"));
    let imported = run(&rows, &["data", "import", file, "--data", data]);
    assert_eq!(imported["digest"], checked["digest"]);
    cluster.create("other").expect("a database");
    let other = Rows::new(format!("{}/other", cluster.address()));
    assert_eq!(run(&other, &["data", "import", file])["digest"], checked["digest"]);
    assert_eq!(run(&other, &["data", "check"])["digest"], checked["digest"]);
    // Made anew from its log, it is the same, and the schema as it was is kept.
    let remade = run(&other, &["data", "recover"]);
    assert_eq!(remade["kept"], "tabellion_mcb_2");
    assert_eq!(run(&other, &["data", "check"])["digest"], checked["digest"]);
    let findings = run(&rows, &["doctor", "--data"]);
    assert!(!findings.to_string().contains("\"red\""), "{findings}");
}

/// A change asks the database for nothing twice. The database logs its statements, each with its parameters.
#[test]
#[ignore = "needs PostgreSQL: `cargo xtask postgres`"]
fn a_turn_asks_nothing_twice() {
    let cluster = cluster(&[
        "logging_collector=on",
        "log_filename=statements",
        "log_statement=all",
        "log_line_prefix=%p|",
    ]);
    let records = Rows::on(&cluster).open();
    let runtime = Runtime::new().expect("a runtime");
    let calls = json!([
        ["project", {"action": "create", "resource": "project", "project_id": "a", "data": {"name": "a", "path": "p"}}],
        ["entity", {"action": "create", "resource": "issue", "project_id": "a", "data": {"id": "i", "title": "t"}}],
        ["entity", {"action": "create", "resource": "issue", "project_id": "a", "data": {"id": "j", "title": "u", "parent_issue_id": "i"}}],
        ["entity", {"action": "update", "resource": "issue", "id": "i", "data": {"title": "v"}}],
        ["entity", {"action": "delete", "resource": "issue", "id": "j"}],
    ]);
    for (number, called) in calls.as_array().expect("calls").iter().enumerate() {
        let (tool, key) = (called[0].as_str().expect("a tool"), format!("key-{number}"));
        let answered = super::call(&records, tool, called[1].clone(), Some(&key));
        runtime.block_on(answered).unwrap_or_else(|error| panic!("{called}: {error}"));
    }
    drop(records);
    let log = std::fs::read_to_string(cluster.data().join("log/statements")).expect("the log");
    let (mut asked, mut number): (BTreeMap<_, BTreeSet<_>>, _) = (BTreeMap::new(), 0);
    let mut lines = log.lines().peekable();
    while let Some(line) = lines.next() {
        let Some((process, statement)) = line.split_once('|') else {
            continue;
        };
        let asked = asked.entry(process).or_default();
        if statement.contains("BEGIN") {
            asked.clear();
        }
        let is_read = statement.contains("execute ") && statement.contains(": SELECT ");
        let Some(parameters) = lines.next_if(|next| is_read && next.contains("|DETAIL:")) else {
            continue;
        };
        number += 1;
        assert!(asked.insert((statement, parameters)), "asked twice: {statement} {parameters}");
    }
    assert!(number > 20, "{number} statements");
}

/// Environment variable with the path of pgbouncer, 1.21 or newer. No package registry has it for all systems that run these tests.
const POOLER: &str = "TABELLION_TEST_PGBOUNCER";

/// A pooler that gives each transaction any of a few connections.
struct Pooler {
    _process: Running,
    port: u16,
    _folder: TempDir,
}

impl Pooler {
    /// Starts it with this limit of prepared statements; `None`, with a message, if there is no pgbouncer.
    fn start(cluster: &Cluster, statements: u32) -> Option<Self> {
        let Some(program) = std::env::var_os(POOLER) else {
            eprintln!("SKIPPED: `{POOLER}` names no pgbouncer");
            return None;
        };
        let folder = public_folder(&std::env::temp_dir()).expect("a folder");
        let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let port = free.expect("a port").port();
        let settings = format!(
            "[databases]\n* = host=127.0.0.1 port={} user=postgres\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n\
             auth_type = any\npool_mode = transaction\ndefault_pool_size = 6\nmax_prepared_statements = {statements}\nunix_socket_dir =\n",
            cluster.port()
        );
        let file = folder.path().join("pgbouncer.ini");
        std::fs::write(&file, settings).expect("written");
        let mut command = unprivileged(Command::new(program)).expect("this user");
        let process = Running(command.arg("--quiet").arg(&file).spawn().expect("it starts"));
        until("the pooler listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
        Some(Self { _process: process, port, _folder: folder })
    }

    /// Returns the rows of a database behind it.
    fn rows(&self, database: &str) -> Rows {
        Rows::new(format!("postgres://postgres@127.0.0.1:{}/{database}", self.port))
    }
}

#[test]
#[ignore = "needs PostgreSQL: `cargo xtask postgres`"]
fn a_pooler_may_give_each_transaction_another_connection() {
    let cluster = cluster(&[]);
    let Some(pooler) = Pooler::start(&cluster, 100) else {
        return;
    };
    for name in ["team", "proof"] {
        cluster.create(name).expect("a database");
    }
    let pooled = |name: &str| pooler.rows(name);
    let (servers, _) = share_a_memory(&pooled("team"));
    assert!(servers.into_iter().all(|server| exited(server).success()));
    prove(&cluster, &pooled("proof"), 1_000, 0);
    let findings = run(&pooled("team"), &["doctor", "--data"]);
    assert!(!findings.to_string().contains("\"red\""), "{findings}");
}

#[test]
#[ignore = "needs PostgreSQL: `cargo xtask postgres`"]
fn a_pooler_that_loses_prepared_statements_is_refused() {
    let cluster = cluster(&[]);
    let Some(pooler) = Pooler::start(&cluster, 0) else {
        return;
    };
    cluster.create("team").expect("a database");
    let rows = pooler.rows("team");
    let refused = [
        Records::open(rows.place(), &ROWS, Start::Serve).map(drop),
        tabellion_records::health(&Address::parse(&rows.address).expect("an address")).map(drop),
    ];
    for refused in refused {
        let said = refused.expect_err("a refusal").to_string();
        assert!(said.contains("`max_prepared_statements`"), "{said}");
    }
}

#[test]
#[ignore = "needs PostgreSQL: `cargo xtask postgres`"]
fn the_document_for_teams_is_as_it_says() {
    let cluster = cluster(&[]);
    cluster.create("team").expect("a database");
    let stranger = cluster.psql("team", "CREATE ROLE stranger").expect("psql").status();
    assert!(stranger.expect("it runs").success());
    // The user of the servers, which the document's commands make.
    let host = format!("127.0.0.1:{}", cluster.port());
    let rows = Rows::new(format!("postgres://tabellion@{host}/team"));
    let document = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/data.md");
    let document = std::fs::read_to_string(document).expect("the document");
    let steps = documented::steps(&document.replace("db.example.org", &host));
    assert!(steps.len() > 5, "{}", steps.len());
    let folder = tempfile::tempdir().expect("a folder");
    let home = rows.derived.path().to_str().expect("text");
    let programs = Programs::of_environment().expect("`cargo xtask postgres` runs these tests");
    let (libraries, bin) = (programs.folder().join("lib"), programs.folder().join("bin"));
    let own = folder.path().join("programs");
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{}:{path}", own.display(), bin.display());
    let said = documented::run(
        &steps,
        folder.path(),
        &[
            ("TABELLION_DATA", &rows.address),
            ("XDG_DATA_HOME", home),
            ("PATH", &path),
            ("LD_LIBRARY_PATH", libraries.to_str().expect("text")),
        ],
    );
    for (step, said) in steps.iter().zip(&said) {
        let (command, says) = (&step.command, &step.says);
        assert!(documented::agrees(says, said), "$ {command}\ndocumented: {says}\nfound: {said}");
    }
    the_servers_role_has_no_more_rights(&cluster, &rows);
}

/// A server runs as the role of servers, which can change rows and nothing else.
fn the_servers_role_has_no_more_rights(cluster: &Cluster, rows: &Rows) {
    let mut server = serve(rows);
    let project = json!({"action": "create", "resource": "project", "project_id": "q", "data": {"name": "Q", "path": "/q"}});
    assert_eq!(call(&mut server, "project", project)["id"], "q");
    let renamed =
        json!({"action": "update", "resource": "project", "project_id": "q", "data": {"name": "R"}});
    assert_eq!(call(&mut server, "project", renamed)["name"], "R");
    let removed = json!({"action": "delete", "resource": "project", "project_id": "q"});
    call(&mut server, "project", removed);
    let stored = json!({"action": "store", "resource": "observation", "project_id": "p",
        "data": {"content": "Servers own no tables", "observation_type": "context"}});
    call(&mut server, "memory", stored);
    assert!(exited(server).success());
    let is_permitted = |role: &str, sql: &str| {
        let sql = format!("SET ROLE {role}; SET search_path = tabellion_mcb; BEGIN; {sql}; ROLLBACK");
        let mut command = cluster.psql("team", &sql).expect("psql");
        command.status().expect("it runs").success()
    };
    for (sql, may_servers, may_others) in [
        ("SELECT count(*) FROM change", true, false),
        ("UPDATE projects SET name = name", true, false),
        ("UPDATE change SET tool = tool", false, false),
        ("DELETE FROM change", false, false),
        ("TRUNCATE change", false, false),
        ("DROP TABLE removed", false, false),
        ("ALTER TABLE projects ADD COLUMN more text", false, false),
        ("CREATE INDEX ON projects (name)", false, false),
        ("CREATE TABLE more ()", false, false),
        ("CREATE SCHEMA more", false, false),
    ] {
        assert!(is_permitted("tabellion_owner", sql), "{sql}");
        assert_eq!(is_permitted("tabellion", sql), may_servers, "{sql}");
        assert_eq!(is_permitted("stranger", sql), may_others, "{sql}");
    }
    // Tables that the owner makes anew have the same rights. Servers are restarted then.
    let owner = Rows::new(rows.address.replace("tabellion@", "tabellion_owner@"));
    assert_eq!(run(&owner, &["data", "recover"])["kept"], "tabellion_mcb_2");
    let mut server = serve(rows);
    let project = json!({"action": "create", "resource": "project", "project_id": "s", "data": {"name": "S", "path": "/s"}});
    assert_eq!(call(&mut server, "project", project)["id"], "s");
    assert!(exited(server).success());
    assert!(!is_permitted("tabellion", "UPDATE change SET tool = tool"));
    assert!(!is_permitted("tabellion", "DROP TABLE removed"));
}
