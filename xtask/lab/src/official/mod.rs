//! Runs MCP's official conformance suite against the server in `server/it/src/official_suite`, which has all features that the
//! suite tests.
//!
//! The suite counts the scenarios that a revision requires, and runs others without counting. Here all of them count, except
//! those of [`NOT_OFFERED`].

mod report;

use std::{fs, path::Path, time::Duration};

use xtask::{
    Outcome,
    foreign::{self, Node, output},
    run,
};

use self::report::Scenario;
use crate::served::Served;

const PACKAGE: &str = "@modelcontextprotocol/conformance";
const VERSION: &str = "0.2.0-alpha.12";
const SCRIPT: &str = "dist/index.js";
/// The tested revisions: the last one with sessions, and the first one without.
const REVISIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];
/// Time limit of the suite for one revision.
const SUITE_TIMEOUT: Duration = Duration::from_secs(15 * 60);
/// The program's name of the server.
const SERVER: &str = "official-suite";

/// Scenarios, by the prefixes of their names, about optional features that the server does not offer, and the reasons. A
/// scenario listed here that passes is a failure too: the row is out of date.
const NOT_OFFERED: [(&str, &str); 2] = [
    ("tasks-", "the tasks extension: a call is answered when it is done, and can be cancelled"),
    (
        "http-custom-header-server-validation",
        "headers of a tool's own (`x-mcp-header`): no contract can ask for any",
    ),
];

/// Runs the suite for each revision, and prints the results.
pub(crate) fn suite() -> Outcome {
    let node = Node::find()?;
    let package = node.package("conformance", PACKAGE, VERSION)?;
    let program = run::program("tabellion-under-test")?;
    let library = tempfile::tempdir()?;
    let served = Served::start_as(SERVER, &program, library.path(), &[""; 0])?;
    println!("{PACKAGE} {VERSION}");
    let mut wrong = Vec::new();
    for revision in REVISIONS {
        let reports = foreign::folder("reports").join(revision);
        let mut suite = node.run(&package.join(SCRIPT));
        suite.args(["server", "--url", &served.url, "--requirements", revision]);
        let ran = output(suite.arg("-o").arg(emptied(&reports)?), SUITE_TIMEOUT)?;
        fs::write(reports.join("output.txt"), &ran.output)?;
        let scenarios = report::scenarios(&reports)?;
        print!("\n{}", report::table(revision, &scenarios, not_offered));
        let found = judge(&scenarios);
        if found.is_empty() && !ran.succeeded {
            wrong.push(format!("{revision}: the suite failed: {}", ran.errors.trim()));
        }
        wrong.extend(found.iter().map(|found| format!("{revision}: {found}")));
    }
    if wrong.is_empty() {
        return Ok(());
    }
    let reports = foreign::folder("reports");
    wrong.push(format!("all results are in {}", reports.display()));
    Err(wrong.join("\n").into())
}

/// Returns the failures among the results.
fn judge(scenarios: &[Scenario]) -> Vec<String> {
    if scenarios.is_empty() {
        return vec!["the suite ran no scenario".into()];
    }
    let mut wrong = Vec::new();
    for scenario in scenarios {
        let Scenario { name, .. } = scenario;
        match not_offered(name) {
            None if !scenario.is_checked() => wrong.push(format!("{name}: nothing was checked")),
            None => wrong.extend(scenario.failures().map(|failure| format!("{name}: {failure}"))),
            Some(_) if scenario.is_checked() && scenario.failures().next().is_none() => {
                wrong.push(format!("{name}: passes, so it is offered: take it off `NOT_OFFERED`"));
            }
            Some(_) => {}
        }
    }
    wrong
}

/// Returns the reason why the scenario's feature is not offered; `None` if it is.
fn not_offered(scenario: &str) -> Option<&'static str> {
    let mut rows = NOT_OFFERED.iter();
    let row = rows.find(|(beginning, _)| scenario.starts_with(beginning));
    row.map(|(_, why)| *why)
}

/// Returns the folder after emptying it.
fn emptied(folder: &Path) -> Outcome<&Path> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)?;
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_failure_counts_but_those_of_what_is_not_offered() {
        let scenario = |name: &str, statuses: &[&str]| {
            let checks = statuses
                .iter()
                .map(|status| json!({ "id": "a", "name": "A", "status": status, "errorMessage": "why" }));
            Scenario::new(name.into(), serde_json::Value::Array(checks.collect())).unwrap()
        };
        for (scenarios, expected) in [
            (vec![], &["the suite ran no scenario"][..]),
            (vec![scenario("ping", &["SUCCESS", "INFO", "WARNING", "SKIPPED"])], &[]),
            (vec![scenario("ping", &["SUCCESS", "FAILURE"])], &["ping: a (A): why"]),
            (vec![scenario("ping", &["SOMETHING"])], &["ping: a (A): why"]),
            (vec![scenario("ping", &[])], &["ping: nothing was checked"]),
            (vec![scenario("ping", &["SKIPPED", "INFO"])], &["ping: nothing was checked"]),
            (vec![scenario("tasks-lifecycle", &["SUCCESS", "FAILURE"])], &[]),
            (vec![scenario("tasks-lifecycle", &["SKIPPED"])], &[]),
            (
                vec![scenario("tasks-lifecycle", &["SUCCESS"])],
                &["tasks-lifecycle: passes, so it is offered: take it off `NOT_OFFERED`"],
            ),
        ] {
            assert_eq!(judge(&scenarios), expected);
        }
    }
}
