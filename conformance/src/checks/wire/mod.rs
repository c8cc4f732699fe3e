//! What is said on the wire, in both eras: who may say what, and that a server survives what it should never be told.
//!
//! What MCP's specification leaves open is not demanded. What the contract says of the tools is demanded only of servers
//! that claim to have them as they are.

mod bad_lines;
mod bad_params;
mod eof;
mod handshake;
mod ids;
mod large;
mod notifications;
mod official;
mod output;
mod stdout;
mod tools_list;
mod unknown;

use serde_json::{Value, json};
use tabellion_runtime::{ToolSpec, spec::EffectKind};

use crate::{
    adapter::Adapter,
    check::{Bench, Check},
    judgement::{Judgement, Stop, ensure},
    reply::Refusal,
    request::{self, Call, With},
    scene::Scene,
};

pub(super) const CHECKS: &[Check] = &[
    handshake::CHECK,
    notifications::CHECK,
    official::CHECK,
    tools_list::CHECK,
    output::CHECK,
    output::TEXT,
    stdout::CHECK,
    bad_lines::CHECK,
    ids::CHECK,
    unknown::CHECK,
    bad_params::CHECK,
    bad_params::CODE,
    large::CHECK,
    eof::EXIT,
    eof::IN_FLIGHT,
];

/// The documents that the cases begin with.
const DOCUMENTS: &[(&str, &str)] = &[
    (
        DOCUMENT,
        "# Plan\n\nIntro.\n\n## Scope\n\nAll of it.\n\n## Later\n\nNothing.\n",
    ),
    ("README.md", "# Library\n"),
];
const DOCUMENT: &str = "notes/plan.md";

/// A library with those documents, in memory: what is tried is what is said, not the disk.
fn library<'a>(bench: &Bench<'a>) -> Result<Scene<'a>, Stop> {
    Scene::in_memory(bench.subject, &bench.trace, DOCUMENTS)
}

/// Calls of a tool that its contract finds valid: one for each of its effects on a document that is there, and its
/// examples as they are, which may be about documents that are not.
fn valid_calls(bench: &Bench<'_>, tool: &'static ToolSpec) -> Vec<Call> {
    let with = With {
        path: DOCUMENT,
        content: "## Scope\n\nLess of it.\n",
        target: "## Scope",
    };
    let about = bench.subject.requests(with).into_iter();
    let mut calls: Vec<_> = about.filter(|call| call.tool.name == tool.name).collect();
    calls.extend(request::examples(tool).map(|arguments| Call { tool, arguments }));
    calls
}

/// A call that changes nothing, and should succeed.
fn harmless(bench: &Bench<'_>) -> Result<Call, Stop> {
    let with = With {
        path: DOCUMENT,
        ..With::default()
    };
    let reading = bench.subject.request(EffectKind::Read, with);
    reading.ok_or_else(|| Stop::NotApplicable("the server has no tool that reads a document".into()))
}

/// The tool of this name.
fn tool(bench: &Bench<'_>, name: &str) -> Result<&'static ToolSpec, Stop> {
    let tool = bench.subject.contract.tool(name);
    tool.ok_or_else(|| Stop::NotApplicable(format!("the contract has no tool `{name}`")))
}

/// Leaves out servers that name or shape tools their own way.
fn native_only(bench: &Bench<'_>) -> Judgement {
    if matches!(bench.subject.adapter, Adapter::Native) {
        return Ok(());
    }
    let why = "the server's tools are not the contract's, but stand for them";
    Err(Stop::NotApplicable(why.into()))
}

/// Leaves out servers that are spoken to over HTTP: they have no lines.
fn lines_only(bench: &Bench<'_>) -> Judgement {
    if !bench.subject.launch.is_http() {
        return Ok(());
    }
    let why = "it is about standard input and output, and the server speaks HTTP";
    Err(Stop::NotApplicable(why.into()))
}

/// Ids for the requests of a case.
fn id(number: usize) -> Value {
    json!(number + 1)
}

/// Fails unless `message` refuses what was asked, by an error or by a tool's result that says so.
fn ensure_refused(message: &Value) -> Judgement {
    ensure(Refusal::of(message).is_some(), || {
        format!("it was answered with success: {}", short(&message["result"]))
    })
}

/// A value as text, cut where it is long.
fn short(value: &Value) -> String {
    let text = value.to_string();
    let end = text.floor_char_boundary(300);
    if end < text.len() {
        format!("{}…", &text[..end])
    } else {
        text
    }
}
