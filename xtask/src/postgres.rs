//! The tests of rows in PostgreSQL, and their server.

use std::process::Command;

use xtask::{
    Outcome,
    foreign::{
        postgres::{Cluster, PROGRAMS, Programs},
        required,
    },
    root, run,
};

use crate::nextest;

/// Environment variable: if `required`, a missing program fails the task; else the tests are skipped with a message.
const REQUIRED: &str = "TABELLION_POSTGRES";
/// Environment variable with the address of a server, for tests of the store and of the index of memories. Each test creates its own databases.
const SERVER: &str = "TABELLION_TEST_POSTGRES";
/// Environment variables with the numbers of conflicting changes and of kills, and their values in a long run.
const MORE: [(&str, &str); 2] = [("TABELLION_TEST_CHANGES", "40000"), ("TABELLION_TEST_KILLS", "40")];

/// Environment variable with the seconds of each measurement; without it, no measurement runs.
const SECONDS: &str = "TABELLION_TEST_SECONDS";

/// The families of checks about rows.
const JUDGED: [&str; 9] =
    ["pure", "operations", "rows", "orgs", "secrets", "memory", "modes", "provenance", "errors"];

/// Runs the tests; with `all`, also the long ones.
///
/// # Errors
/// With [`Missing`](xtask::foreign::Missing) if PostgreSQL is missing and not required; if a test fails.
pub(crate) fn test(all: bool) -> Outcome {
    let programs = required(REQUIRED, Programs::fetch())?;
    let folder = programs.folder().to_str().ok_or("the path is no text")?;
    // Each test has its own connections.
    let server = Cluster::start(&programs, &["max_connections=300"])?;
    for package in ["tabellion-records", "tabellion-mcb"] {
        nextest::run_package(package, &[(SERVER, &server.address())])?;
    }
    judge(&server)?;
    run::cargo(&["lab", "zoo", "--database", &server.address()])?;
    drop(server);
    let more: &[_] = if all { &MORE } else { &[] };
    let of_it = ["test", "--workspace", "--quiet", "--test", "it", "--", "--ignored", "postgres::"];
    run::cargo_with(&of_it, &[&[(PROGRAMS, folder)], more].concat())
}

/// Measures the rate of creating rows, next to pgbench's, for so many seconds each; in a release build.
///
/// # Errors
/// If PostgreSQL is missing, or the measurement fails.
pub(crate) fn measure(seconds: u64) -> Outcome {
    let programs = Programs::fetch()?;
    let folder = programs.folder().to_str().ok_or("the path is no text")?;
    let tests = ["test", "--release", "--package", "tabellion-it", "--quiet", "--test", "it", "--"];
    let speed = ["--ignored", "--nocapture", "postgres::speed"];
    let variables = [(PROGRAMS, folder), (SECONDS, &*seconds.to_string())];
    run::cargo_with(&[&tests[..], &speed].concat(), &variables)
}

/// Has the conformance suite judge the rows of `mcb` on this server.
fn judge(server: &Cluster) -> Outcome {
    let (suite, tabellion) = (run::program("tabellion-conformance")?, run::program("tabellion")?);
    let home = tempfile::tempdir()?;
    let mut command = Command::new(suite);
    command
        .env("XDG_DATA_HOME", home.path())
        .args(["run", "--contract", "schemas/mcb", "--profile", "smoke", "--database", &server.address()])
        .args(JUDGED.iter().flat_map(|family| ["--only", family]))
        .arg("--")
        .arg(tabellion)
        .args(["serve", "--contract", "mcb", "--data", "{database}", "--workspace", "{workspace}"])
        .args(["--provenance", "strict"])
        .current_dir(root());
    let output = command.output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&output.stdout).into())
}
