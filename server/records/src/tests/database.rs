//! A database for each folder of a test, on the server that `TABELLION_TEST_POSTGRES` names.

use std::{env, path::Path};

use serde_json::json;
use tabellion_runtime::spec::Action;
use tokio_postgres::NoTls;

use super::{
    tracker::{self, Bench, wait_on_threads},
    upkeep::{fields, fill, with},
};
use crate::{Address, Place, Records, Start, remake};

/// Environment variable with the address of a server, whose user may create databases: `postgres://postgres@localhost:5432`.
pub(crate) const SERVER: &str = "TABELLION_TEST_POSTGRES";

/// Returns the place of a folder's rows, with a new database if there is none; `None` if no server is named.
pub(crate) fn place(folder: &Path) -> Option<Place> {
    let server = env::var(SERVER).ok()?;
    let name = folder.file_name()?.to_str()?.trim_start_matches('.').to_owned();
    make(&server, &name);
    Some(Place::Postgres {
        address: Address::parse(&format!("{server}/{name}")).expect("an address"),
        derived: folder.join("derived"),
    })
}

fn make(server: &str, name: &str) {
    wait_on_threads(async {
        let (client, connection) = tokio_postgres::connect(&format!("{server}/postgres"), NoTls)
            .await
            .expect("the server for tests");
        tokio::spawn(connection);
        let made = client.batch_execute(&format!("CREATE DATABASE \"{name}\"")).await;
        if let Err(error) = made {
            // The database exists already.
            assert_eq!(error.code().map(|code| code.code()), Some("42P04"), "{error}");
        }
    });
}

/// A lossy migration requires a command, which remakes the tables from the log and keeps the old schema.
#[test]
fn a_migration_that_loses_data_keeps_the_schema_as_it_was() {
    let bench = fill(Bench::new());
    let Place::Postgres { address, .. } = tracker::place(bench.folder.path()) else {
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
