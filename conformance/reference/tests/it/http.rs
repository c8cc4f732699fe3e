//! The reference and its mutants over HTTP, started by the suite or by an operator.

use std::{fs, path::Path, process::Command};

use tabellion_conformance::{
    era::Era,
    exit,
    report::{Report, Verdict, progress::Silent},
    run::{self, Options},
    target::free_port,
};
use tabellion_reference::{
    CorrectServer,
    mutant::{ALSO_OVER_HTTP, HTTP_ZOO, REST_ZOO, Specimen},
};

const REFERENCE: &str = env!("CARGO_BIN_EXE_tabellion-reference");

fn judged(server: CorrectServer, specimen: Option<&Specimen>, only: &[&str]) -> Report {
    let subject = tabellion_reference::over_http(server, Path::new(REFERENCE), specimen);
    let options = Options {
        jobs: 2,
        // Small servers speak one era.
        eras: match server {
            CorrectServer::Reference => Era::ALL.to_vec(),
            _ => vec![Era::Stateless],
        },
        only: only.iter().map(|id| String::from(*id)).collect(),
        verdicts_alone: true,
        ..Options::default()
    };
    run::run(&subject, &options, &Silent)
}

#[test]
fn the_reference_passes_over_http() {
    let lines = [
        "wire/handshake",
        "wire/ids",
        "wire/large-argument",
        "mutation/returned-id",
    ];
    let more = ["atomic/restart", "budget/memory"];
    let only = [&["http"][..], &lines, &more].concat();
    for check in judged(CorrectServer::Reference, None, &only).checks {
        let fine = matches!(check.verdict, Verdict::Pass | Verdict::NotApplicable);
        assert!(fine, "{} ({}): {:?}", check.id, check.revision, check.reason);
    }
}

#[test]
fn each_mutant_over_http_is_detected() {
    let also = ALSO_OVER_HTTP.iter();
    let also = also.map(|(name, ids)| (Specimen::find(name).unwrap(), *ids));
    let own = HTTP_ZOO.iter().map(|specimen| (specimen, specimen.detected_by));
    for (specimen, ids) in own.chain(also) {
        let checks = judged(specimen.server, Some(specimen), ids).checks;
        let found = checks.iter().any(|check| check.verdict == Verdict::Fail);
        assert!(found, "{}: {checks:?}", specimen.name);
    }
}

#[test]
fn the_small_server_passes_over_rest() {
    let report = judged(
        CorrectServer::Bulletin,
        None,
        &["rest", "audit", "limits", "sessions"],
    );
    let verdicts: Vec<_> = report.checks.iter().map(|check| check.verdict).collect();
    assert_eq!(verdicts, [Verdict::Pass; 11], "{:?}", report.checks);
}

#[test]
fn each_mutant_over_rest_is_detected() {
    for specimen in REST_ZOO {
        for id in specimen.detected_by {
            let checks = judged(specimen.server, Some(specimen), &[id]).checks;
            let found = checks.iter().all(|check| check.verdict == Verdict::Fail);
            assert!(found && !checks.is_empty(), "{} {id}: {checks:?}", specimen.name);
        }
    }
}

const RESET: &str =
    "if [ -e pid ]; then kill $(cat pid); while kill -0 $(cat pid); do sleep 0.01; done; fi 2>/dev/null
    SERVER --library \"$TABELLION_LIBRARY\" --http 127.0.0.1:PORT & echo $! > pid";

#[test]
fn an_external_server_is_tested_in_its_folder() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    let port = free_port().unwrap().to_string();
    let output = Command::new(env!("CARGO_BIN_EXE_conformance-under-test"))
        .args(["run", "--url", &format!("http://127.0.0.1:{port}/mcp")])
        .args(["--library", "served/library", "--patience", "20"])
        .args([
            "--reset",
            &RESET.replace("SERVER", REFERENCE).replace("PORT", &port),
        ])
        .arg("--only=http/clients-apart,mutation/one-commit,paths/environment,atomic/restart,budget/memory")
        .current_dir(dir.path())
        .output()
        .unwrap();
    let id = fs::read_to_string(path("pid")).unwrap();
    Command::new("kill").arg(id.trim()).status().unwrap();
    let all = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(exit::BROKEN.into()), "{all}");
    for text in [
        "pass       http/clients-apart",
        "pass       mutation/one-commit",
        "the check needs a server that the suite starts",
        "--library served/library --reset='if",
    ] {
        assert!(all.contains(text), "no {text:?} in\n{all}");
    }
    let left = fs::read_dir(path("served")).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["library"]);
    let mut documents = fs::read_dir(path("served/library")).unwrap();
    assert!(documents.next().is_none());
}
