//! Servers that are spoken to over HTTP: the reference, mutants of it, and one that somebody else runs.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use tabellion_conformance::{
    exit,
    reference::{
        self,
        mutant::{ALSO_OVER_HTTP, HTTP_ZOO, Specimen},
    },
    report::{Report, Verdict, progress::Silent},
    run::{self, Options},
    target::free_port,
};
use tempfile::TempDir;

const REFERENCE: &str = env!("CARGO_BIN_EXE_tabellion-reference");
const URL: &str = "http://127.0.0.1:{port}/mcp";

fn judged(specimen: Option<&Specimen>, only: &[&str]) -> Report {
    let subject = reference::subject_over_http(Path::new(REFERENCE), specimen);
    let options = Options {
        jobs: 2,
        only: only.iter().map(|id| String::from(*id)).collect(),
        verdicts_alone: true,
        ..Options::default()
    };
    run::run(&subject, &options, &Silent)
}

#[test]
fn the_reference_does_over_http_what_it_does_in_lines() {
    let lines = [
        "wire/handshake",
        "wire/ids",
        "wire/large-argument",
        "mutation/returned-id",
    ];
    let more = ["atomic/restart", "budget/memory"];
    let only = [&["http"][..], &lines, &more].concat();
    for check in judged(None, &only).checks {
        let fine = matches!(check.verdict, Verdict::Pass | Verdict::NotApplicable);
        assert!(fine, "{} ({}): {:?}", check.id, check.revision, check.reason);
    }
}

#[test]
fn each_mutant_is_found() {
    let also = ALSO_OVER_HTTP.iter();
    let also = also.map(|(name, ids)| (Specimen::named(name).unwrap(), *ids));
    let own = HTTP_ZOO.iter().map(|specimen| (specimen, specimen.killed_by));
    for (specimen, ids) in own.chain(also) {
        let checks = judged(Some(specimen), ids).checks;
        let found = checks.iter().any(|check| check.verdict == Verdict::Fail);
        assert!(found, "{}: {checks:?}", specimen.name);
    }
}

/// A folder to work in, and a server that others run there.
struct Place {
    dir: TempDir,
    port: u16,
}

impl Place {
    fn new() -> Self {
        Self {
            dir: TempDir::new().unwrap(),
            port: free_port().unwrap(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn says(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tabellion-conformance"));
        command
            .args(arguments)
            .current_dir(self.dir.path())
            .output()
            .unwrap()
    }

    /// A run against a server that `reset` begins anew.
    fn tries(&self, reset: &str, checks: &str) -> Output {
        let url = URL.replace("{port}", &self.port.to_string());
        let reset = reset
            .replace("SERVER", REFERENCE)
            .replace("PORT", &self.port.to_string());
        let options = [
            "run",
            "--url",
            &url,
            "--library",
            "served/library",
            "--reset",
            &reset,
        ];
        self.says(&[&options[..], &["--only", checks, "--patience", "20"]].concat())
    }

    fn stop(&self) {
        let id = fs::read_to_string(self.path("pid")).unwrap();
        Command::new("kill").arg(id.trim()).status().unwrap();
    }
}

#[track_caller]
fn is(output: &Output, code: u8, texts: &[&str]) {
    let all = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code.into()), "{all}");
    for text in texts {
        assert!(all.contains(text), "no {text:?} in\n{all}");
    }
}

const RESET: &str =
    "if [ -e pid ]; then kill $(cat pid); while kill -0 $(cat pid); do sleep 0.01; done; fi 2>/dev/null
    SERVER --library \"$TABELLION_LIBRARY\" --http 127.0.0.1:PORT & echo $! > pid";

#[test]
fn a_server_that_somebody_else_runs_is_judged_in_its_folder() {
    let place = Place::new();
    let checks = "http/clients-apart,mutation/one-commit,paths/environment,atomic/restart,budget/memory";
    let output = place.tries(RESET, checks);
    place.stop();
    let texts = [
        "pass       http/clients-apart",
        "pass       mutation/one-commit",
        "somebody else runs the server",
        "--library served/library --reset 'if",
    ];
    is(&output, exit::BROKEN, &texts);
    let left = fs::read_dir(place.path("served")).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["library"]);
    assert!(
        fs::read_dir(place.path("served/library"))
            .unwrap()
            .next()
            .is_none()
    );
}

#[test]
fn what_the_operator_gets_wrong_is_said() {
    let place = Place::new();
    let failed = place.tries("echo no such unit; exit 3", "http/get");
    is(
        &failed,
        exit::HARNESS,
        &["failed (exit status: 3)\n    no such unit"],
    );
    fs::write(place.path("served/library/mine.md"), "# Mine\n").unwrap();
    let full = place.tries("true", "http/get");
    is(&full, exit::USAGE, &["is not empty", "is deleted"]);
    assert!(place.path("served/library/mine.md").exists());
    let server = ["--", "server", "{library}"];
    for (options, text) in [
        (&["--url", "https://localhost/mcp"][..], "there is no TLS here"),
        (&["--url", "http://localhost:1/mcp"], "put `{port}` into the URL"),
        (&["--url", URL], "put `{port}` into the URL"),
        (&["--library", "x"], "--reset"),
    ] {
        let said = place.says(&[&["run"], options, &server].concat());
        is(&said, exit::USAGE, &[text]);
    }
    let ended = ["sh", "-c", "exit 7", "{library}", "{port}"];
    let said = place.says(&[&["run", "--url", URL, "--"], &ended[..]].concat());
    is(
        &said,
        exit::HARNESS,
        &["does not speak MCP over HTTP", "it ended (exit status: 7)"],
    );
}

#[test]
fn a_server_ends_with_the_tester() {
    let place = Place::new();
    let server = "sleep 100 & echo $! > child.tmp; mv child.tmp child; wait";
    let mut tester = Command::new(env!("CARGO_BIN_EXE_tabellion-conformance"))
        .args([
            "run",
            "--url",
            URL,
            "--",
            "sh",
            "-c",
            server,
            "{library}",
            "{port}",
        ])
        .current_dir(place.dir.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    until(|| place.path("child").exists());
    tester.kill().unwrap();
    tester.wait().unwrap();
    let child = fs::read_to_string(place.path("child")).unwrap();
    let status = PathBuf::from(format!("/proc/{}/cmdline", child.trim()));
    // One that nobody has waited for has no command line any more.
    until(|| !fs::read(&status).is_ok_and(|line| line.starts_with(b"sleep")));
}

#[track_caller]
fn until(holds: impl Fn() -> bool) {
    let since = Instant::now();
    while !holds() {
        assert!(since.elapsed() < Duration::from_secs(60));
        thread::sleep(Duration::from_millis(10));
    }
}
