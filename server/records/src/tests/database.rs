//! A database for each folder of a test, on the server that `TABELLION_TEST_POSTGRES` names.

use std::{
    env,
    ffi::OsStr,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use serde_json::json;
use tabellion_runtime::{
    CallContext, FailureKind,
    spec::{Action, FieldSpec, FieldType, RowsSpec, Unique},
};
use tokio::runtime::{self, Runtime};
use tokio_postgres::{Client, Error, NoTls};

use super::{
    tracker::{self, Bench, TRACKER, call, wait_on_threads},
    upkeep::{fields, fill, with},
};
use crate::{Address, Location, Records, Roles, Start, remake};

/// Environment variable with the address of a server, whose user may create databases: `postgres://postgres@localhost:5432`.
pub(crate) const SERVER: &str = "TABELLION_TEST_POSTGRES";

/// Returns the place of a folder's rows, with a new database if there is none; `None` if no server is named.
pub(crate) fn place(folder: &Path) -> Option<Location> {
    let server = env::var(SERVER).ok()?;
    let name = name(folder);
    let made = run(&server, "postgres", &format!("CREATE DATABASE \"{name}\""));
    if let Err(error) = made {
        // The database exists already.
        assert_eq!(error.code().map(|code| code.code()), Some("42P04"), "{error}");
    }
    Some(Location::Postgres {
        address: Address::parse(&format!("{server}/{name}")).expect("an address"),
        derived: folder.join("derived"),
    })
}

/// Returns the name of a folder's database.
fn name(folder: &Path) -> String {
    let name = folder.file_name().and_then(OsStr::to_str).expect("a name");
    name.trim_start_matches('.').to_owned()
}

/// Runs statements in a database of a server.
fn run(server: &str, database: &str, sql: &str) -> Result<(), Error> {
    wait_on_threads(async {
        let (client, connection) = tokio_postgres::connect(&format!("{server}/{database}"), NoTls)
            .await
            .expect("the server for tests");
        tokio::spawn(connection);
        client.batch_execute(sql).await
    })
}

/// The tracker, with unique texts of comments and an index by text of issues.
fn with_more_indexes() -> &'static RowsSpec {
    with("comment", "1.1.0", |comment| {
        comment.uniques = &[Unique { fields: &["body"], folded: &[], while_null: None }];
        comment.indexes = &[&["project_id", "created_at"]];
    })
}

/// A connection of another program to a folder's database.
struct Other {
    client: Client,
    runtime: Runtime,
}

impl Other {
    fn connect(folder: &Path) -> Self {
        let runtime = runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let address = format!("{}/{}", env::var(SERVER).unwrap(), name(folder));
        let client = runtime.block_on(async {
            let (client, connection) = tokio_postgres::connect(&address, NoTls).await.unwrap();
            tokio::spawn(connection);
            client
        });
        Self { client, runtime }
    }

    fn run(&self, sql: &str) -> Result<(), Error> {
        self.runtime.block_on(self.client.batch_execute(sql))
    }

    /// Returns the names of the contract's indexes by their validity.
    fn indexes(&self, is_valid: bool) -> Vec<String> {
        let sql = format!(
            "SELECT relname FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid \
             WHERE indisvalid = {is_valid} AND relnamespace = 'tabellion_tracker'::regnamespace AND relname LIKE '%\\_comments\\_%' \
             ORDER BY relname"
        );
        let found = self.runtime.block_on(self.client.query(&sql, &[])).unwrap();
        found.iter().map(|row| row.get(0)).collect()
    }

    /// Waits until each index is valid.
    fn wait_for_indexes(&self, expected: &[&str]) {
        let begun = Instant::now();
        while self.indexes(true) != expected || !self.indexes(false).is_empty() {
            let found = (self.indexes(true), self.indexes(false));
            assert!(begun.elapsed() < Duration::from_secs(30), "{found:?}");
            thread::sleep(Duration::from_millis(50));
        }
    }
}

/// All indexes of the comments in that version.
const MORE_INDEXES: [&str; 4] = [
    "by_comments_org_id_issue_id_seq",
    "by_comments_org_id_project_id_created_at",
    "by_comments_org_id_seq",
    "unique_comments_body",
];

#[test]
fn an_index_of_an_interrupted_build_is_built_anew() {
    let bench = Bench::new();
    let Location::Postgres { .. } = tracker::place(bench.folder.path()) else {
        return;
    };
    bench.create("project", json!({"id": "p", "name": "One"}));
    bench.create("issue", json!({"id": "a", "project_id": "p", "title": "a"}));
    bench.create("comment", json!({"issue_id": "a", "body": "one"}));
    let (writer, builder) = (Other::connect(bench.folder.path()), Other::connect(bench.folder.path()));
    // A build waits for the transactions that write.
    writer.run("BEGIN; UPDATE tabellion_tracker.comments SET body = body").unwrap();
    builder.run("SET statement_timeout = '200ms'").unwrap();
    for sql in [
        "UNIQUE INDEX CONCURRENTLY unique_comments_body ON tabellion_tracker.comments (org_id, sha256(body::bytea))",
        "INDEX CONCURRENTLY by_comments_org_id_project_id_created_at ON tabellion_tracker.comments (id)",
    ] {
        let error = builder.run(&format!("CREATE {sql}")).unwrap_err();
        assert_eq!(error.code().map(|code| code.code()), Some("57014"), "{error}");
    }
    writer.run("ROLLBACK").unwrap();
    assert_eq!(builder.indexes(false), [MORE_INDEXES[1], MORE_INDEXES[3]]);
    let place = || tracker::place(bench.folder.path());
    let open = || Records::open(place(), with_more_indexes(), Start::Serve).unwrap();
    let records = open();
    builder.wait_for_indexes(&MORE_INDEXES);
    drop(records);
    // Also in a schema of this version.
    builder.run("DROP INDEX tabellion_tracker.unique_comments_body").unwrap();
    let _records = open();
    builder.wait_for_indexes(&MORE_INDEXES);
}

#[test]
fn rows_are_written_while_an_index_is_built_and_stay_unique() {
    let bench = fill(Bench::new());
    let Location::Postgres { .. } = tracker::place(bench.folder.path()) else {
        return;
    };
    bench.create("issue", json!({"id": "d", "project_id": "p", "title": "d"}));
    let place = || tracker::place(bench.folder.path());
    let refused = Records::open(place(), with_more_indexes(), Start::Serve).unwrap_err();
    assert_eq!(refused.kind, FailureKind::Conflict);
    assert!(refused.message.contains("`comments` have the same `body`"), "{refused}");
    let comments = bench.call("comment", Action::List, json!({"issue_id": "a"})).unwrap();
    let id = comments["items"][0]["id"].clone();
    bench.call("comment", Action::Update, json!({"id": id, "data": {"body": "other"}})).unwrap();
    let writer = Other::connect(bench.folder.path());
    // The builds can't go on.
    writer.run("BEGIN; UPDATE tabellion_tracker.comments SET body = body WHERE body = 'other'").unwrap();
    let open = || Records::open(place(), with_more_indexes(), Start::Serve).unwrap();
    let newer = [open(), open()];
    assert!(!writer.indexes(true).contains(&MORE_INDEXES[3].to_owned()));
    // A server of the older version.
    bench.create("comment", json!({"issue_id": "d", "body": "older"}));
    let same = |number: usize| {
        let create = |records: &Records| {
            let data = json!({"data": {"issue_id": "d", "body": format!("same {number}")}});
            call(records, &CallContext::default(), "comment", Action::Create, data)
        };
        let answers = thread::scope(|scope| {
            let racing: Vec<_> = (0..6)
                .map(|racer| {
                    scope.spawn({
                        let newer = &newer;
                        move || create(&newer[racer % 2]).is_ok()
                    })
                })
                .collect();
            racing.into_iter().map(|racer| racer.join().unwrap()).collect::<Vec<_>>()
        });
        answers.into_iter().filter(|is_made| *is_made).count()
    };
    assert_eq!((0..10).map(same).collect::<Vec<_>>(), [1; 10]);
    writer.run("COMMIT").unwrap();
    writer.wait_for_indexes(&MORE_INDEXES);
    assert_eq!(same(10), 1);
    bench.records.check().unwrap();
}

/// Servers whose role owns no tables work on them, and start in a newer version once the owner has migrated.
#[test]
fn a_role_without_rights_to_the_tables_needs_their_owner_to_migrate() {
    let folder = tempfile::tempdir().unwrap();
    let Location::Postgres { derived, .. } = tracker::place(folder.path()) else {
        return;
    };
    let (owner, user) = (format!("{}_owner", name(folder.path())), name(folder.path()));
    let administrator = Other::connect(folder.path());
    let sql = Roles::new(&owner, &user).unwrap().sql(&TRACKER);
    for _ in 0..2 {
        administrator.run(&sql).unwrap();
    }
    let open = |role: &str, spec, start| {
        let server = env::var(SERVER).unwrap();
        let host = server.rsplit(['@', '/']).next().unwrap().to_owned();
        let address = Address::parse(&format!("postgres://{role}@{host}/{}", name(folder.path()))).unwrap();
        let derived = derived.clone();
        Records::open(Location::Postgres { address, derived }, spec, start)
    };
    let refused = open(&user, &TRACKER, Start::Serve).unwrap_err();
    assert!(refused.message.contains("tabellion data migrate"), "{refused}");
    drop(open(&owner, &TRACKER, Start::Migrate).unwrap());
    let older = fill(Bench {
        records: open(&user, &TRACKER, Start::Serve).unwrap(),
        folder: tempfile::tempdir().unwrap(),
    });
    let rewrite = format!("SET ROLE \"{user}\"; UPDATE tabellion_tracker.change SET tool = tool");
    let error = administrator.run(&rewrite).unwrap_err();
    assert_eq!(error.code().map(|code| code.code()), Some("42501"), "{error}");
    administrator.run("RESET ROLE").unwrap();
    let newer = with("access_key", "1.1.0", |key| {
        key.uniques = &[Unique { fields: &["name"], folded: &[], while_null: None }];
        fields(key, |fields| {
            fields.push(FieldSpec { optional: true, ..FieldSpec::new("used_at", FieldType::Time) });
        });
    });
    let refused = open(&user, newer, Start::Serve).unwrap_err();
    assert!(refused.message.contains("tabellion data migrate"), "{refused}");
    // The owner waits for the indexes, and servers of the older version go on.
    drop(open(&owner, newer, Start::Migrate).unwrap());
    let records = open(&user, newer, Start::Serve).unwrap();
    let create = |records| {
        let data = json!({"data": {"name": "deploy"}});
        call(records, &CallContext::default(), "access_key", Action::Create, data)
    };
    create(&older.records).unwrap();
    assert_eq!(create(&records).unwrap_err()["rule"], "taken");
    let sql = "SELECT indisvalid FROM pg_index WHERE indexrelid = 'tabellion_tracker.unique_access_keys_name'::regclass";
    let found = administrator.runtime.block_on(administrator.client.query_one(sql, &[]));
    assert!(found.unwrap().get::<_, bool>(0));
}

/// A lossy migration requires a command, which remakes the tables from the log and keeps the old schema.
#[test]
fn a_migration_that_loses_data_keeps_the_schema_as_it_was() {
    let bench = fill(Bench::new());
    let Location::Postgres { address, .. } = tracker::place(bench.folder.path()) else {
        return;
    };
    let dropped = with("issue", "2.0.0", |issue| {
        fields(issue, |fields| fields.retain(|field| field.name != "extra"));
    });
    let open = |start| Records::open(tracker::place(bench.folder.path()), dropped, start);
    let refused = open(Start::Serve).unwrap_err();
    assert!(refused.message.contains("tabellion data migrate"), "{refused}");
    let remade = remake(&address, dropped).unwrap();
    assert_eq!((&*remade.kept, remade.checked.changes, remade.checked.rows), ("tabellion_tracker_2", 11, 8));
    assert!(remade.cut_off.is_none());
    assert_eq!(open(Start::Serve).unwrap().check().unwrap(), remade.checked);
    // A server that was not stopped writes to neither.
    let error = bench.call("project", Action::Create, json!({"data": {"name": "late"}})).unwrap_err();
    assert!(error["message"].as_str().unwrap().contains("restart the server"), "{error}");
}

#[test]
fn a_piece_is_claimed_by_one_server_until_it_is_there() {
    let bench = Bench::new();
    let Location::Postgres { .. } = tracker::place(bench.folder.path()) else {
        return;
    };
    let pieces = bench.records.pieces().expect("servers share pieces");
    let names = |names: &[&str]| -> Vec<String> { names.iter().map(|name| (*name).to_owned()).collect() };
    let claim = |wanted: &[&str]| {
        let mut claimed = pieces.claim(names(wanted)).unwrap();
        claimed.sort();
        claimed
    };
    let later = |seconds: u32| {
        let server = env::var(SERVER).unwrap();
        let sql = format!("UPDATE tabellion_tracker.derived SET at = at - {seconds}");
        run(&server, &name(bench.folder.path()), &sql).unwrap();
    };
    assert_eq!(claim(&["p/a", "p/b"]), ["p/a", "p/b"]);
    assert_eq!(claim(&["p/c", "p/b"]), ["p/c"]);
    assert_eq!(pieces.pieces(names(&["p/a", "p/b"])).unwrap(), []);
    pieces.put(vec![("p/b".into(), vec![0, 1]), ("q/a".into(), vec![2])]).unwrap();
    assert_eq!(pieces.pieces(names(&["p/a", "p/b", "p/none"])).unwrap(), [("p/b".into(), vec![0, 1])]);
    // The server of a claim may have died.
    later(301);
    assert_eq!(claim(&["p/a", "p/b"]), ["p/a"]);
    pieces.put(vec![("p/a".into(), vec![3])]).unwrap();
    pieces.retain("p/", &|_| false).unwrap();
    assert_eq!(pieces.pieces(names(&["p/a", "p/b"])).unwrap().len(), 2);
    later(90_000);
    pieces.retain("p/", &|name| name == "p/a").unwrap();
    let left = pieces.pieces(names(&["p/a", "p/b", "q/a"])).unwrap();
    assert_eq!(left.iter().map(|(name, _)| &**name).collect::<Vec<_>>(), ["p/a", "q/a"]);
}
