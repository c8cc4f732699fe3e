//! A database for each folder of a test, on the server that `TABELLION_TEST_POSTGRES` names.

use std::{env, path::Path};

use tokio_postgres::NoTls;

use super::tracker::wait_on_threads;
use crate::{Address, Place};

/// Environment variable with the address of a server, whose user may make databases: `postgres://postgres@localhost:5432`.
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
            // It is there.
            assert_eq!(error.code().map(|code| code.code()), Some("42P04"), "{error}");
        }
    });
}
