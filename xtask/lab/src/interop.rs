//! Foreign clients use our server, over both transports and in both eras: the `mcp` package of PyPI in both of its major versions, and the
//! Inspector's command line. The former also obtain tokens from a foreign authorization server. Over REST, a generated client and
//! schemathesis use the server's description of its endpoints, and a workflow engine walks through the description of its workflows.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use serde_json::Value;
use tempfile::TempDir;

use xtask::{
    Outcome,
    foreign::{Missing, Node, Python, output},
    root, run,
};

use crate::served::Served;

/// The packages for Python, by the environment that they are in.
const PYTHONS: [(&str, &str); 2] = [("mcp-1", "mcp==1.30.0"), ("mcp-2", "mcp==2.3.0")];
/// Script of the Python clients.
const SCRIPT: &str = "conformance/clients/meet.py";
/// Script of the Python clients that need a token.
const AUTHORIZED: &str = "conformance/clients/authorized.py";
/// The packages that read descriptions of endpoints.
const OF_REST: [&str; 2] = ["openapi-python-client==0.29.1", "schemathesis==4.32.5"];
/// The script that uses them.
const REST: &str = "conformance/clients/rest.py";
/// The engine that walks through workflows.
const WORKFLOW_ENGINE: &str = "SpiffWorkflow==3.2.0";
/// The script that uses it.
const WORKFLOWS: &str = "conformance/clients/workflows.py";
/// The authorization server, an npm package.
const AUTHORITY: &str = "oidc-provider";
const AUTHORITY_VERSION: &str = "9.13.3";
const INSPECTOR: &str = "@modelcontextprotocol/inspector";
const INSPECTOR_VERSION: &str = "2.12.0";
const LAUNCHER: &str = "clients/launcher/build/index.js";
/// The Inspector's names of the eras.
const ERAS: [&str; 2] = ["legacy", "modern"];
const SIGNATURE: &str = "/_meta/io.modelcontextprotocol~1serverInfo/name";
/// Time limit of one client.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(180);

/// Options of the server: every key that a contract can have, and a tool that needs approval.
const SERVED: [&str; 8] = [
    "--contract",
    "braindrive-markdown",
    "--contract",
    "safe-markdown-editor",
    "--document",
    "plan.md",
    "--approve",
    "write_markdown",
];
const PLAN: &str = "# Plan\n\n## Scope\n\nWhat belongs to it.\n";
const IDEA: &str = "# Idea\n\nAn idea.\n";
/// The document after the Inspector has appended to it.
const MORE: &str = "# Idea\n\nAn idea.\n\nAnd more.\n";

/// Commands to the Inspector: arguments, a pointer into the answer, and a text expected there.
const INSPECTOR_CALLS: [(&[&str], &str, &str); 8] = [
    (&["tools/list", "--strict"], "/tools/0/name", "read_markdown"),
    (
        &["tools/call", "--tool-name", "read_markdown", "--tool-arg", "path=notes/idea.md"],
        "/structuredContent/content",
        "An idea.",
    ),
    (
        &[
            "tools/call",
            "--tool-name",
            "edit_markdown",
            "--tool-arg",
            "path=notes/idea.md",
            r#"operation={"type":"append","content":"And more.\n"}"#,
        ],
        "/structuredContent/git_commit_sha",
        "",
    ),
    (
        &["tools/call", "--tool-name", "read_markdown", "--tool-arg", "path=../idea.md"],
        "/_meta/tabellion~1error/name",
        "INVALID_PARAMS",
    ),
    (&["resources/list"], "/resources/0/uri", "markdown://document"),
    (&["resources/read", "--uri", "markdown://document"], "/contents/0/text", "Scope"),
    (&["prompts/list"], "/prompts/0/name", "summarize_section"),
    (
        &["prompts/get", "--prompt-name", "summarize_section", "--prompt-args", "section=Scope"],
        "/messages/0/content/text",
        "What belongs to it.",
    ),
];

/// The transport between a client and the server.
#[derive(Debug, Clone, Copy)]
enum Transport {
    Stdio,
    Http,
}

/// Runs all clients. Missing ones are reported at the end.
pub(crate) fn all() -> Outcome {
    let program = run::program("tabellion")?;
    let (mut wrong, mut missing) = (Vec::new(), Vec::new());
    for met in [
        pythons(&program),
        authorized(&program),
        alone(&program, "rest", &OF_REST, REST),
        // A foreign engine walks through the workflows alongside the server.
        alone(&program, "workflows", &[WORKFLOW_ENGINE], WORKFLOWS),
        inspector(&program),
    ] {
        match met {
            Ok(found) => wrong.extend(found),
            Err(error) if error.is::<Missing>() => missing.push(error),
            Err(error) => wrong.push(error.to_string()),
        }
    }
    if !wrong.is_empty() {
        return Err(wrong.join("\n").into());
    }
    missing.into_iter().next().map_or(Ok(()), Err)
}

/// Returns the failures of the Python clients.
fn pythons(program: &Path) -> Outcome<Vec<String>> {
    let mut wrong = Vec::new();
    for (name, package) in PYTHONS {
        let python = Python::with(name, &[package])?;
        for way in [Transport::Stdio, Transport::Http] {
            let place = TestServer::new(program, way)?;
            let mut client = python.command();
            client.arg(root().join(SCRIPT)).arg(place.library.path());
            client.args(place.target());
            wrong.extend(meeting(&format!("{package:14} {way:?}"), &mut client)?);
        }
    }
    Ok(wrong)
}

/// Returns the failures of the Python clients that need a token.
fn authorized(program: &Path) -> Outcome<Vec<String>> {
    let node = Node::find()?;
    let authority = node.package("authority", AUTHORITY, AUTHORITY_VERSION)?;
    let mut wrong = Vec::new();
    for (name, package) in PYTHONS {
        let python = Python::with(name, &[package])?;
        let place = TestServer::new(program, Transport::Stdio)?;
        let mut client = python.command();
        client.arg(root().join(AUTHORIZED)).arg(place.library.path());
        client.args([program, node.program(), &authority]);
        wrong.extend(meeting(&format!("{package:14} {AUTHORITY} {AUTHORITY_VERSION}"), &mut client)?);
    }
    Ok(wrong)
}

/// Returns the failures of a client that starts the server itself, in the environment called `name`, with these packages. The packages for
/// MCP are installed too, since the scripts share code.
fn alone(program: &Path, name: &str, packages: &[&str], script: &str) -> Outcome<Vec<String>> {
    let (_, mcp) = PYTHONS[0];
    let python = Python::with(name, &[packages, &[mcp]].concat())?;
    let place = TestServer::new(program, Transport::Stdio)?;
    let mut client = python.command();
    client.arg(root().join(script)).arg(place.library.path()).arg(program);
    let met = meeting(&packages.join(" "), &mut client)?;
    Ok(met.into_iter().collect())
}

/// Runs a client; returns its output if it fails.
fn meeting(name: &str, client: &mut Command) -> Outcome<Option<String>> {
    let met = output(client, CLIENT_TIMEOUT)?;
    println!("{name}: {}", if met.succeeded { "met" } else { "failed" });
    Ok((!met.succeeded).then(|| format!("{name}: {}\n{}", met.output, met.errors)))
}

/// Returns the failures of the Inspector.
fn inspector(program: &Path) -> Outcome<Vec<String>> {
    let node = Node::find()?;
    let script = node.package("inspector", INSPECTOR, INSPECTOR_VERSION)?.join(LAUNCHER);
    let mut wrong = Vec::new();
    for era in ERAS {
        for way in [Transport::Stdio, Transport::Http] {
            let place = TestServer::new(program, way)?;
            let mut found = Vec::new();
            for (asked, at, expected) in INSPECTOR_CALLS {
                let mut client = node.run(&script);
                // Its own files are deleted with the library.
                client.env("HOME", place.library.path().join(".home"));
                client.args(["--cli", "--protocol-era", era, "--method"]).args(asked);
                let met = output(client.arg("--").args(place.target()), CLIENT_TIMEOUT)?;
                let answer: Value = serde_json::from_str(&met.output).unwrap_or_default();
                let there = answer.pointer(at).and_then(Value::as_str);
                // Since 2026-07-28, results name their server.
                let is_signed = answer.pointer(SIGNATURE).is_some();
                let in_era = asked[0] != "tools/call" || is_signed == (era == ERAS[1]);
                if !in_era || !there.is_some_and(|there| there.contains(expected)) {
                    found.push(format!("{asked:?}: {}{}", met.output, met.errors));
                }
            }
            let idea = fs::read_to_string(place.library.path().join("notes/idea.md"))?;
            if idea != MORE {
                found.push(format!("unexpected content: {idea:?}"));
            }
            let outcome = if found.is_empty() { "met" } else { "failed" };
            println!("Inspector {INSPECTOR_VERSION} {era} {way:?}: {outcome}");
            wrong.extend(found.into_iter().map(|found| format!("Inspector {era} {way:?}: {found}")));
        }
    }
    Ok(wrong)
}

/// A small library, and the server for it.
struct TestServer {
    library: TempDir,
    program: PathBuf,
    /// `None` if clients start the server themselves.
    served: Option<Served>,
}

impl TestServer {
    fn new(program: &Path, way: Transport) -> Outcome<Self> {
        let library = tempfile::tempdir()?;
        fs::create_dir(library.path().join("notes"))?;
        fs::write(library.path().join("plan.md"), PLAN)?;
        fs::write(library.path().join("notes/idea.md"), IDEA)?;
        let served = match way {
            Transport::Stdio => None,
            Transport::Http => Some(Served::start(program, library.path(), &SERVED)?),
        };
        Ok(Self { library, program: program.into(), served })
    }

    /// Returns the server's URL, or the command that starts it.
    fn target(&self) -> Vec<PathBuf> {
        if let Some(served) = &self.served {
            return vec![PathBuf::from(&served.url)];
        }
        let mut target = vec![self.program.clone(), "serve".into(), "--library".into()];
        target.push(self.library.path().into());
        target.extend(SERVED.map(PathBuf::from));
        target
    }
}
