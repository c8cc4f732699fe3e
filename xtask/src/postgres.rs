//! The tests of rows in PostgreSQL, and the server that they need.

use std::env;

use xtask::{
    Outcome,
    foreign::postgres::{Cluster, PROGRAMS, Programs},
    run,
};

use crate::nextest;

/// Environment variable: set to `required`, what is missing fails; else the tests are skipped with a message.
const REQUIRED: &str = "TABELLION_POSTGRES";
/// Environment variable with the address of a server, for tests of the store. Each test makes databases of its own there.
const SERVER: &str = "TABELLION_TEST_POSTGRES";
/// Environment variables with the numbers of conflicting changes and of kills, and what they are if there is time.
const MORE: [(&str, &str); 2] = [
    ("TABELLION_TEST_CHANGES", "40000"),
    ("TABELLION_TEST_KILLS", "40"),
];

/// Runs the tests; with `all`, for as long as it takes to try much.
///
/// # Errors
/// With [`Missing`](xtask::foreign::Missing) if PostgreSQL is missing and not required; if a test fails.
pub(crate) fn test(all: bool) -> Outcome {
    let programs = match Programs::fetch() {
        Err(missing) if env::var(REQUIRED).is_ok_and(|value| value == "required") => {
            return Err(missing.to_string().into());
        }
        found => found?,
    };
    let folder = programs.folder().to_str().ok_or("the path is no text")?;
    // Each test has connections of its own.
    let server = Cluster::start(&programs, &["max_connections=300"])?;
    nextest::run_package("tabellion-records", &[(SERVER, &server.address())])?;
    drop(server);
    let more: &[_] = if all { &MORE } else { &[] };
    let of_it = [
        "test",
        "--workspace",
        "--quiet",
        "--test",
        "it",
        "--",
        "--ignored",
        "postgres::",
    ];
    run::cargo_with(&of_it, &[&[(PROGRAMS, folder)], more].concat())
}
