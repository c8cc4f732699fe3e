//! The conformance suite's families about the memory, and those about provenance, modes, errors and rows, over both transports.

use std::{num::NonZero, thread};

use tabellion_conformance::{
    Subject,
    era::Era,
    launch::{Launch, Reach},
    report::{Verdict, progress::Silent},
    run::{self, Options},
};
use tabellion_contracts::mcb::CONTRACT;

use crate::support::TABELLION;

/// What the families about provenance, modes and errors judge.
const OF_CALLS: [&str; 5] = [
    "provenance-required",
    "parent-when-delegated",
    "modes-hold",
    "errors-are-json-rpc",
    "errors-are-sanitized",
];

/// What the family about the memory judges.
const OF_MEMORY: [&str; 10] = [
    "memory-keeps-what-is-stored",
    "the-same-is-counted",
    "each-run-is-kept",
    "timelines-are-exact",
    "budgets-hold",
    "any-text-is-a-query",
    "stored-is-found",
    "filters-hold",
    "scores-descend",
    "provenance-never-filters",
];

/// What the families about code judge.
const OF_CODE: [&str; 15] = [
    "any-text-is-a-query",
    "filters-hold",
    "scores-descend",
    "status-is-true",
    "index-is-the-files",
    "index-survives",
    "one-hit-a-chunk",
    "exact-names-are-found",
    "nothing-outside-is-read",
    "branches-are-gits",
    "repositories-are-listed",
    "impact-is-counted",
    "rules-are-listed",
    "findings-are-data",
    "metrics-are-counted",
];

/// Those of them that are of rules.
const OF_RULES: [&str; 3] = ["rules-are-listed", "findings-are-data", "metrics-are-counted"];

/// Runs checks against the program, which is started with these further arguments. They show that these guarantees hold.
fn judge(only: &[&str], guarantees: &[&str], arguments: &[&str], reach: Reach, eras: Vec<Era>) {
    let serve = [TABELLION, "serve", "--contract", CONTRACT.id, "--data", "{data}"];
    let command = serve.iter().chain(arguments).map(|word| (*word).to_owned());
    let subject = Subject {
        name: "tabellion".into(),
        launch: Launch {
            reach,
            mode: Some("--mode={mode}".into()),
            ..Launch::of(command.collect())
        },
        ..Subject::new(&CONTRACT, Vec::new())
    };
    let options = Options {
        only: only.iter().map(|id| (*id).to_owned()).collect(),
        jobs: thread::available_parallelism().map_or(1, NonZero::get),
        eras,
        rest_in_last_era: true,
        ..Options::default()
    };
    let report = run::run(&subject, &options, &Silent);
    let broken = report
        .checks
        .iter()
        .filter(|check| check.verdict != Verdict::Pass);
    let broken: Vec<_> = broken.map(|check| (&check.id, &check.reason)).collect();
    assert!(broken.is_empty(), "{broken:#?}");
    let held = report
        .guarantees
        .iter()
        .filter(|it| it.tried > 0 && it.verdict == Verdict::Pass);
    let held: Vec<_> = held.map(|it| it.id.as_str()).collect();
    assert_eq!(held, guarantees);
}

#[test]
fn indexes_searches_comparisons_and_rules_hold_over_stdio() {
    judge(
        &["index", "search", "vcs", "validate"],
        &OF_CODE,
        &["--workspace", "{workspace}", "--provenance", "strict"],
        Reach::Lines,
        vec![Era::Stateless],
    );
}

#[test]
fn indexes_searches_comparisons_and_rules_hold_over_http() {
    let on_http = |checks: &[&str], guarantees: &[&str], mode| {
        let serve = [
            "--workspace",
            "{workspace}",
            "--http",
            "127.0.0.1:{port}",
            "--mode",
            mode,
        ];
        let reach = Reach::Http("http://127.0.0.1:{port}/mcp".into());
        judge(checks, guarantees, &serve, reach, vec![Era::Session]);
    };
    // What a kill or restart leaves does not depend on the transport, and takes longest to find out.
    let of_server = [
        "index/status",
        "index/incremental",
        "index/outside",
        "search",
        "vcs",
    ];
    let not_of_server = [&["index-survives"], &OF_RULES[..]].concat();
    let guarantees: Vec<&str> = OF_CODE
        .into_iter()
        .filter(|id| !not_of_server.contains(id))
        .collect();
    on_http(&of_server, &guarantees, "server-hybrid");
    // Rules are for where the files are, so no server validates for other machines.
    on_http(&["validate"], &OF_RULES, "client-hybrid");
}

#[test]
fn provenance_modes_and_errors_hold_over_stdio() {
    judge(
        &["provenance", "modes", "errors"],
        &OF_CALLS,
        &["--provenance", "strict"],
        Reach::Lines,
        vec![Era::Stateless],
    );
}

#[test]
fn provenance_modes_and_errors_hold_over_http() {
    let url = "http://127.0.0.1:{port}/mcp";
    // What errors tell does not depend on the transport, and takes longest to find out.
    judge(
        &["provenance", "modes", "errors/channel"],
        &OF_CALLS[..4],
        &["--http", "127.0.0.1:{port}"],
        Reach::Http(url.into()),
        vec![Era::Session],
    );
}

#[test]
fn the_memory_keeps_its_guarantees() {
    judge(
        &["memory"],
        &OF_MEMORY,
        &["--provenance", "strict"],
        Reach::Lines,
        vec![Era::Stateless],
    );
}

#[test]
fn each_change_is_one_entry_over_http() {
    judge(
        &["rows/one-change"],
        &["one-change-per-mutation"],
        &["--workspace", "{workspace}", "--http", "127.0.0.1:{port}"],
        Reach::Http("http://127.0.0.1:{port}/mcp".into()),
        vec![Era::Stateless],
    );
}
