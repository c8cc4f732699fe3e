//! The contract `brainforge`: judged by the suite over both transports, and reviewed at the terminal while it is served.

use std::process::Command;

use serde_json::{Map, Value, json};
use tabellion_conformance::{
    Subject, Target,
    era::Era,
    launch::{Launch, Reach},
    report::{Verdict, progress::Silent},
    run::{self, Options},
};
use tabellion_contracts::brainforge::{CONTRACT, tool};

use crate::support::{Library, TABELLION, exited};

/// Runs checks against the program, which is started with these further arguments; returns what they say of each guarantee.
fn judge(only: &[&str], arguments: &[&str], era: Era, by: Launch) -> Vec<(String, Verdict)> {
    let serve = [
        env!("CARGO_BIN_EXE_tabellion-under-test"),
        "serve",
        "--contract",
        CONTRACT.id,
        "--library",
        "{library}",
    ];
    let command = serve.iter().chain(arguments).map(|word| (*word).to_owned());
    let subject = Subject {
        launch: Launch {
            command: command.collect(),
            ..by
        },
        ..Subject::new(&CONTRACT, Vec::new())
    };
    let options = Options {
        only: only.iter().map(|id| (*id).to_owned()).collect(),
        eras: vec![era],
        rest_in_last_era: true,
        ..Options::default()
    };
    let report = run::run(&subject, &options, &Silent);
    let broken = report
        .checks
        .iter()
        .filter(|check| check.verdict == Verdict::Fail);
    let broken: Vec<_> = broken.map(|check| (&check.id, &check.reason)).collect();
    assert!(broken.is_empty(), "{broken:#?}");
    let guarantees = report.guarantees.into_iter();
    guarantees
        .map(|guarantee| (guarantee.id, guarantee.verdict))
        .collect()
}

/// The families `schema` and `wire` are left out: they make more than the ten exports that an hour has room for, and would wait.
#[test]
fn brainforge_keeps_its_guarantees_over_stdio() {
    let program = env!("CARGO_BIN_EXE_tabellion-under-test");
    let by = Launch {
        role: Some("--as={role}".into()),
        decide: Some(format!(
            "'{program}' review {{decision}} {{id}} -m decided --library {{library}}"
        )),
        ..Launch::of(vec![])
    };
    let families = [
        "auth", "gates", "pure", "paths", "budget", "review", "versions", "links", "notes", "export",
    ];
    let held = judge(&families, &[], Era::Stateless, by);
    assert_eq!(held.len(), CONTRACT.guarantees.len());
    // REST is over HTTP alone, and so is what is kept of calls.
    let over_http = [
        "rest-is-mcp",
        "audit-of-every-call",
        "limits-hold",
        "sessions-end",
    ];
    let broken: Vec<_> = held
        .iter()
        .filter(|(id, verdict)| !over_http.contains(&id.as_str()) && *verdict != Verdict::Pass)
        .collect();
    assert!(broken.is_empty(), "{broken:?}");
}

#[test]
fn brainforge_knows_its_callers_and_has_downloads_over_http() {
    let folder = tempfile::tempdir().expect("a folder");
    let keys = folder.path().join("keys.json");
    let roles = [
        ("owner", &["--scope", "write"][..]),
        ("reviewer", &["--scope", "review"]),
        ("reader", &["--scope", "read"]),
        ("agent", &["--scope", "write", "--agent", "helper@1"]),
    ];
    let headers = roles.map(|(role, arguments)| {
        let mut command = Command::new(TABELLION);
        command
            .args(["key", "create", "--name", "Ada", "--keys"])
            .arg(&keys);
        let output = command.args(arguments).output().expect("it runs");
        let secret = String::from_utf8(output.stdout).expect("a key");
        (
            role.to_owned(),
            "Authorization".to_owned(),
            format!("Bearer {}", secret.trim()),
        )
    });
    let by = Launch {
        reach: Reach::Http("http://127.0.0.1:{port}/mcp".into()),
        role_headers: headers.into(),
        clock_offset: Some("TABELLION_CLOCK_OFFSET".into()),
        ..Launch::of(vec![])
    };
    let keys = keys.to_str().expect("a path");
    let held = judge(
        &[
            "auth", "gates", "links", "notes", "export", "rest", "audit", "limits", "sessions",
        ],
        &["--http", "127.0.0.1:{port}", "--keys", keys],
        Era::Session,
        by,
    );
    let held = held.iter().filter(|(_, verdict)| *verdict == Verdict::Pass);
    let held: Vec<_> = held.map(|(id, _)| id.as_str()).collect();
    assert_eq!(
        held,
        [
            "auth-required",
            "gates-before-execution",
            "violations-write-nothing",
            "links-are-sound",
            "search-is-bounded",
            "export-is-whole",
            "rest-is-mcp",
            "audit-of-every-call",
            "limits-hold",
            "sessions-end",
        ]
    );
}

/// Runs `tabellion review`; returns whether it succeeded, and what it said.
fn review(library: &Library, arguments: &[&str]) -> (bool, String) {
    let mut command = Command::new(TABELLION);
    command
        .arg("review")
        .args(arguments)
        .arg("--library")
        .arg(library.root());
    let output = command.output().expect("it runs");
    let said = [output.stdout, output.stderr].concat();
    (
        output.status.success(),
        String::from_utf8_lossy(&said).into_owned(),
    )
}

fn call(target: &mut Target, tool: &str, arguments: Value) -> Value {
    let answer = target.call(tool, arguments, Map::new()).expect("an answer");
    answer["result"]["structuredContent"].clone()
}

#[test]
fn an_agents_note_is_found_once_a_person_has_approved_it_at_the_terminal() {
    let library = Library::empty();
    let mut command = Command::new(TABELLION);
    command
        .args(["serve", "--contract", CONTRACT.id, "--library"])
        .arg(library.root());
    let mut target = Target::start(&mut command).expect("it starts");
    target.initialize("2025-11-25").expect("a handshake");
    let note = json!({ "content": "# Locks\n\nLocks are short.", "ai_justification": "asked to sum up" });
    let created = call(&mut target, tool::CREATE_NOTE, note);
    assert_eq!(created["status"], "pending_review", "{created}");
    let id = created["review_workflow_id"].as_str().expect("an id");
    let found = |target: &mut Target| {
        call(target, tool::SEMANTIC_SEARCH, json!({ "query": "locks" }))["total_results"].clone()
    };
    assert_eq!(found(&mut target), 0);

    let (is_fine, said) = review(&library, &["list"]);
    assert!(
        is_fine && said.contains("Locks") && said.contains(&id[..8]),
        "{said}"
    );
    let (is_fine, shown) = review(&library, &["show", id]);
    assert!(is_fine && shown.contains("+Locks are short."), "{shown}");
    let (is_fine, said) = review(&library, &["reject", id]);
    assert!(!is_fine && said.contains("needs notes"), "{said}");
    let before = library.ledger().commits.len();
    let (is_fine, said) = review(&library, &["approve", &id[..8]]);
    assert!(is_fine && said.contains("approved"), "{said}");
    assert_eq!(
        library.ledger().commits.len(),
        before + 1,
        "one commit for both documents"
    );

    // What was shown is what happened.
    let note = library.root().join("notes");
    let file = std::fs::read_dir(note)
        .expect("notes")
        .next()
        .expect("a note")
        .expect("a note");
    for line in std::fs::read_to_string(file.path()).expect("text").lines() {
        assert!(shown.contains(&format!("+{line}")), "{line}: {shown}");
    }
    assert_eq!(found(&mut target), 1);
    let (is_fine, said) = review(&library, &["approve", id]);
    assert!(!is_fine && said.contains("has ended"), "{said}");
    assert!(review(&library, &["list"]).1.contains("nothing waits"));
    assert!(exited(target).success());
}
