//! The command line about servers that are spoken to over HTTP.

use std::{
    fs,
    path::PathBuf,
    process::{Command, Output},
};

use tabellion_conformance::{exit, target::free_port};
use tempfile::TempDir;

const URL: &str = "http://127.0.0.1:{port}/mcp";

/// A working directory, and the port of a server that the operator runs.
struct Fixture {
    dir: TempDir,
    port: u16,
}

impl Fixture {
    fn new() -> Self {
        Self { dir: TempDir::new().unwrap(), port: free_port().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn says(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tabellion-conformance"));
        command.args(arguments).current_dir(self.dir.path()).output().unwrap()
    }

    /// Runs checks against a server that `reset` restarts.
    fn tries(&self, reset: &str, checks: &str) -> Output {
        let url = URL.replace("{port}", &self.port.to_string());
        let options = ["run", "--url", &url, "--library", "served/library", "--reset", reset];
        self.says(&[&options[..], &["--only", checks, "--patience", "20"]].concat())
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

#[test]
fn a_wrong_url_command_or_folder_is_an_error() {
    let place = Fixture::new();
    let failed = place.tries("echo no such unit; exit 3", "http/get");
    is(&failed, exit::HARNESS, &["failed (exit status: 3)\n    no such unit"]);
    fs::write(place.path("served/library/mine.md"), "# Mine\n").unwrap();
    let full = place.tries("true", "http/get");
    is(&full, exit::USAGE, &["is not empty", "deletes its content"]);
    assert!(place.path("served/library/mine.md").exists());
    let server = ["--", "server", "{library}"];
    for (options, text) in [
        (&["--url", "https://localhost/mcp"][..], "TLS is not supported"),
        (&["--url", "http://localhost:1/mcp"], "put `{port}` into the URL"),
        (&["--url", URL], "put `{port}` into the URL"),
        (&["--library", "x"], "--reset"),
    ] {
        let said = place.says(&[&["run"], options, &server].concat());
        is(&said, exit::USAGE, &[text]);
    }
    let ended = ["sh", "-c", "exit 7", "{library}", "{port}"];
    let said = place.says(&[&["run", "--url", URL, "--"], &ended[..]].concat());
    is(&said, exit::HARNESS, &["does not speak MCP over HTTP", "the process ended (exit status: 7)"]);
}
