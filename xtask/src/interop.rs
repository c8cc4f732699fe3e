//! Clients that others wrote meet our server, over both transports and in both eras: the `mcp` package of PyPI in both
//! of its major versions, and the command line of the Inspector. The former also get their tokens by themselves from an
//! authorization server that others wrote.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use serde_json::Value;
use tempfile::TempDir;

use crate::{
    Outcome,
    foreign::{Missing, Node, Python, Served, said},
    root, run,
};

/// The packages for Python, by the environment that they are in.
const PYTHONS: [(&str, &str); 2] = [("mcp-1", "mcp==1.30.0"), ("mcp-2", "mcp==2.3.0")];
/// What the Python clients do.
const SCRIPT: &str = "conformance/clients/meet.py";
/// What they do where they need a token.
const AUTHORIZED: &str = "conformance/clients/authorized.py";
/// Who makes tokens, a package of npm.
const AUTHORITY: &str = "oidc-provider";
const AUTHORITY_VERSION: &str = "9.13.3";
const INSPECTOR: &str = "@modelcontextprotocol/inspector";
const INSPECTOR_VERSION: &str = "2.12.0";
const LAUNCHER: &str = "clients/launcher/build/index.js";
/// What the Inspector calls the eras.
const ERAS: [&str; 2] = ["legacy", "modern"];
const SIGNATURE: &str = "/_meta/io.modelcontextprotocol~1serverInfo/name";
/// How long one client may take.
const PATIENCE: Duration = Duration::from_secs(180);

/// What is served: all that a contract can have, and a tool for which a person is asked.
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
/// The idea when the Inspector has appended to it.
const MORE: &str = "# Idea\n\nAn idea.\n\nAnd more.\n";

/// What the Inspector is asked for, and what stands where in the answer.
const ASKED: [(&[&str], &str, &str); 8] = [
    (&["tools/list", "--strict"], "/tools/0/name", "read_markdown"),
    (
        &[
            "tools/call",
            "--tool-name",
            "read_markdown",
            "--tool-arg",
            "path=notes/idea.md",
        ],
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
        &[
            "tools/call",
            "--tool-name",
            "read_markdown",
            "--tool-arg",
            "path=../idea.md",
        ],
        "/_meta/tabellion~1error/name",
        "INVALID_PARAMS",
    ),
    (&["resources/list"], "/resources/0/uri", "markdown://document"),
    (
        &["resources/read", "--uri", "markdown://document"],
        "/contents/0/text",
        "Scope",
    ),
    (&["prompts/list"], "/prompts/0/name", "summarize_section"),
    (
        &[
            "prompts/get",
            "--prompt-name",
            "summarize_section",
            "--prompt-args",
            "section=Scope",
        ],
        "/messages/0/content/text",
        "What belongs to it.",
    ),
];

/// How a client reaches the server.
#[derive(Debug, Clone, Copy)]
enum Way {
    Stdio,
    Http,
}

/// Lets all of them meet it. Those that can't be had are told of at the end.
pub(crate) fn all() -> Outcome {
    let program = run::program("tabellion", &[])?;
    let (mut wrong, mut missing) = (Vec::new(), Vec::new());
    for met in [pythons(&program), authorized(&program), inspector(&program)] {
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

/// What went wrong with the clients in Python.
fn pythons(program: &Path) -> Outcome<Vec<String>> {
    let mut wrong = Vec::new();
    for (name, package) in PYTHONS {
        let python = Python::with(name, &[package])?;
        for way in [Way::Stdio, Way::Http] {
            let place = Place::new(program, way)?;
            let mut client = python.command();
            client.arg(root().join(SCRIPT)).arg(place.library.path());
            client.args(place.target());
            wrong.extend(meeting(&format!("{package:14} {way:?}"), &mut client)?);
        }
    }
    Ok(wrong)
}

/// What went wrong with the clients in Python that need a token.
fn authorized(program: &Path) -> Outcome<Vec<String>> {
    let node = Node::find()?;
    let authority = node.package("authority", AUTHORITY, AUTHORITY_VERSION)?;
    let mut wrong = Vec::new();
    for (name, package) in PYTHONS {
        let python = Python::with(name, &[package])?;
        let place = Place::new(program, Way::Stdio)?;
        let mut client = python.command();
        client.arg(root().join(AUTHORIZED)).arg(place.library.path());
        client.args([program, node.program(), &authority]);
        wrong.extend(meeting(
            &format!("{package:14} {AUTHORITY} {AUTHORITY_VERSION}"),
            &mut client,
        )?);
    }
    Ok(wrong)
}

/// Lets a client meet the server, which it does well or not; what it said then.
fn meeting(name: &str, client: &mut Command) -> Outcome<Option<String>> {
    let met = said(client, PATIENCE)?;
    println!("{name}: {}", if met.well { "met" } else { "failed" });
    Ok((!met.well).then(|| format!("{name}: {}\n{}", met.output, met.errors)))
}

/// What went wrong with the Inspector.
fn inspector(program: &Path) -> Outcome<Vec<String>> {
    let node = Node::find()?;
    let script = node
        .package("inspector", INSPECTOR, INSPECTOR_VERSION)?
        .join(LAUNCHER);
    let mut wrong = Vec::new();
    for era in ERAS {
        for way in [Way::Stdio, Way::Http] {
            let place = Place::new(program, way)?;
            let mut found = Vec::new();
            for (asked, at, expected) in ASKED {
                let mut client = node.run(&script);
                // What it keeps of its own is kept where it goes with the library.
                client.env("HOME", place.library.path().join(".home"));
                client
                    .args(["--cli", "--protocol-era", era, "--method"])
                    .args(asked);
                let met = said(client.arg("--").args(place.target()), PATIENCE)?;
                let answer: Value = serde_json::from_str(&met.output).unwrap_or_default();
                let there = answer.pointer(at).and_then(Value::as_str);
                // Since 2026-07-28, results say who made them.
                let is_signed = answer.pointer(SIGNATURE).is_some();
                let in_era = asked[0] != "tools/call" || is_signed == (era == ERAS[1]);
                if !in_era || !there.is_some_and(|there| there.contains(expected)) {
                    found.push(format!("{asked:?}: {}{}", met.output, met.errors));
                }
            }
            let idea = fs::read_to_string(place.library.path().join("notes/idea.md"))?;
            if idea != MORE {
                found.push(format!("not the idea that was to be: {idea:?}"));
            }
            let outcome = if found.is_empty() { "met" } else { "failed" };
            println!("Inspector {INSPECTOR_VERSION} {era} {way:?}: {outcome}");
            wrong.extend(
                found
                    .into_iter()
                    .map(|found| format!("Inspector {era} {way:?}: {found}")),
            );
        }
    }
    Ok(wrong)
}

/// A small library, and the server over it.
struct Place {
    library: TempDir,
    program: PathBuf,
    /// Where clients don't start it themselves.
    served: Option<Served>,
}

impl Place {
    fn new(program: &Path, way: Way) -> Outcome<Self> {
        let library = tempfile::tempdir()?;
        fs::create_dir(library.path().join("notes"))?;
        fs::write(library.path().join("plan.md"), PLAN)?;
        fs::write(library.path().join("notes/idea.md"), IDEA)?;
        let served = match way {
            Way::Stdio => None,
            Way::Http => Some(Served::start(program, library.path(), &SERVED)?),
        };
        Ok(Self {
            library,
            program: program.into(),
            served,
        })
    }

    /// What a client is told: the address, or how to start the server.
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
