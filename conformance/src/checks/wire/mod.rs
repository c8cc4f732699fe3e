//! Checks of the protocol in both eras: messages follow MCP, and the server survives invalid ones.
//!
//! The checks demand nothing that MCP's specification leaves open, and the contract's tool definitions only of servers
//! that implement them without an adapter.

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
    check::{Bench, Check},
    contracts,
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
    tools_list::STARTS,
    output::CHECK,
    output::TEXT,
    stdout::CHECK,
    bad_lines::CHECK,
    bad_lines::CODE,
    ids::CHECK,
    unknown::CHECK,
    bad_params::CHECK,
    bad_params::CODE,
    large::CHECK,
    eof::EXIT,
    eof::IN_FLIGHT,
];

/// Documents of each case's library.
const DOCUMENTS: &[(&str, &str)] = &[
    (
        DOCUMENT,
        "# Plan\n\nIntro.\n\n## Scope\n\nAll of it.\n\n## Later\n\nNothing.\n",
    ),
    ("README.md", "# Library\n"),
];
const DOCUMENT: &str = "notes/plan.md";

/// Creates a library with [`DOCUMENTS`], in memory, since these checks do not test the disk.
fn library<'a>(bench: &Bench<'a>) -> Result<Scene<'a>, Stop> {
    Scene::in_memory(bench.subject, &bench.trace, DOCUMENTS)
}

/// Returns valid calls of a tool: one for each of its effects on an existing document, and its examples, whose documents
/// may be missing.
fn valid_calls(bench: &Bench<'_>, tool: &'static ToolSpec) -> Vec<Call> {
    let with = With {
        path: DOCUMENT,
        content: "## Scope\n\nLess of it.\n",
        target: "## Scope",
    };
    let about = bench.subject.requests(with).into_iter();
    let mut calls: Vec<_> = about.filter(|call| call.tool.label() == tool.label()).collect();
    calls.extend(request::examples(tool).map(|arguments| Call { tool, arguments }));
    calls
}

/// Returns a read call, which should succeed.
fn read_call(bench: &Bench<'_>) -> Result<Call, Stop> {
    let with = With {
        path: DOCUMENT,
        ..With::default()
    };
    let reading = bench.subject.request(EffectKind::Read, with);
    // Without declared effects, any tool with `readOnlyHint` does.
    let reading = reading.or_else(|| {
        let mut tools = bench.subject.contract.tools.iter().filter(|tool| !tool.mutating);
        tools.find_map(|tool| {
            let arguments = request::examples(tool).next()?;
            contracts::is_declared(bench.subject.contract).then_some(Call { tool, arguments })
        })
    });
    reading.ok_or_else(|| Stop::NotApplicable("the server has no tool that reads a document".into()))
}

/// Returns the tool called `name`.
fn tool(bench: &Bench<'_>, name: &str) -> Result<&'static ToolSpec, Stop> {
    let tool = bench.subject.contract.operation(name);
    tool.ok_or_else(|| Stop::NotApplicable(format!("the contract has no tool `{name}`")))
}

/// Skips servers behind an adapter.
fn native_only(bench: &Bench<'_>) -> Judgement {
    if bench.subject.has_own_schemas() {
        return Ok(());
    }
    let why = "an adapter maps the server's tools to the contract";
    Err(Stop::NotApplicable(why.into()))
}

/// Skips servers behind HTTP, which have no standard input and output.
fn lines_only(bench: &Bench<'_>) -> Judgement {
    if !bench.subject.launch.is_http() {
        return Ok(());
    }
    let why = "the check tests standard input and output, and the server speaks HTTP";
    Err(Stop::NotApplicable(why.into()))
}

/// Returns the id of a case's request.
fn id(number: usize) -> Value {
    json!(number + 1)
}

/// Fails unless `message` is an error or a tool result with `isError`.
fn ensure_refused(message: &Value) -> Judgement {
    ensure(Refusal::of(message).is_some(), || {
        format!(
            "the request was answered with success: {}",
            short(&message["result"])
        )
    })
}

/// Returns a value as JSON, truncated to 300 bytes.
fn short(value: &Value) -> String {
    let text = value.to_string();
    let end = text.floor_char_boundary(300);
    if end < text.len() {
        format!("{}…", &text[..end])
    } else {
        text
    }
}
