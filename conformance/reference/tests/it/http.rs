//! An external server, started by an operator.

use std::{fs, process::Command};

use tabellion_conformance::{exit, target::free_port};

const REFERENCE: &str = env!("CARGO_BIN_EXE_tabellion-reference");

const RESET: &str =
    "if [ -e pid ]; then kill $(cat pid); while kill -0 $(cat pid); do sleep 0.01; done; fi 2>/dev/null
    SERVER --library \"$TABELLION_LIBRARY\" --http 127.0.0.1:PORT & echo $! > pid";

#[test]
fn an_external_server_is_tested_in_its_folder() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    let port = free_port().unwrap().to_string();
    let output = Command::new(env!("CARGO_BIN_EXE_conformance-under-test"))
        .args(["run", "--profile", "smoke", "--url", &format!("http://127.0.0.1:{port}/mcp")])
        .args(["--library", "served/library", "--patience", "20"])
        .args(["--reset", &RESET.replace("SERVER", REFERENCE).replace("PORT", &port)])
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
