//! A database for each folder of a test, on the server that `TABELLION_TEST_POSTGRES` names.

use std::{env, ffi::OsStr, path::Path};

use serde_json::json;
use tabellion_runtime::spec::Action;
use tokio_postgres::{Error, NoTls};

use super::{
    tracker::{self, Bench, wait_on_threads},
    upkeep::{fields, fill, with},
};
use crate::{Address, Location, Records, Start, remake};

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
    assert_eq!(
        (&*remade.kept, remade.checked.changes, remade.checked.rows),
        ("tabellion_tracker_2", 11, 8)
    );
    assert!(remade.cut_off.is_none());
    assert_eq!(open(Start::Serve).unwrap().check().unwrap(), remade.checked);
    // A server that was not stopped writes to neither.
    let error = bench
        .call("project", Action::Create, json!({"data": {"name": "late"}}))
        .unwrap_err();
    assert!(
        error["message"].as_str().unwrap().contains("restart the server"),
        "{error}"
    );
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
    pieces
        .put(vec![("p/b".into(), vec![0, 1]), ("q/a".into(), vec![2])])
        .unwrap();
    assert_eq!(
        pieces.pieces(names(&["p/a", "p/b", "p/none"])).unwrap(),
        [("p/b".into(), vec![0, 1])]
    );
    // The server of a claim may have died.
    later(301);
    assert_eq!(claim(&["p/a", "p/b"]), ["p/a"]);
    pieces.put(vec![("p/a".into(), vec![3])]).unwrap();
    pieces.retain("p/", &|_| false).unwrap();
    assert_eq!(pieces.pieces(names(&["p/a", "p/b"])).unwrap().len(), 2);
    later(90_000);
    pieces.retain("p/", &|name| name == "p/a").unwrap();
    let left = pieces.pieces(names(&["p/a", "p/b", "q/a"])).unwrap();
    assert_eq!(
        left.iter().map(|(name, _)| &**name).collect::<Vec<_>>(),
        ["p/a", "q/a"]
    );
}
