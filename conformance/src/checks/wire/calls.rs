//! Libraries, calls and answers, for all checks of messages.

use crate::{
    checks::prelude::*,
    contracts,
    judgement::mapped_tools,
    request::{self},
};

/// Documents of each case's library.
pub(super) const DOCUMENTS: &[(&str, &str)] = &[
    (DOCUMENT, "# Plan\n\nIntro.\n\n## Scope\n\nAll of it.\n\n## Later\n\nNothing.\n"),
    ("README.md", "# Library\n"),
];
pub(super) const DOCUMENT: &str = "notes/plan.md";

/// Creates a library with [`DOCUMENTS`], the first of them at each of its places, in memory, since these checks do not test the
/// disk.
pub(super) fn library<'a>(bench: &Bench<'a>) -> Result<Scene<'a>, Stop> {
    let places = bench.subject.places(DOCUMENT);
    let placed = places.iter().map(|path| (path.as_str(), DOCUMENTS[0].1));
    Scene::in_memory(bench.subject, &bench.trace, &placed.chain([DOCUMENTS[1]]).collect::<Vec<_>>())
}

/// Returns valid calls of a tool: one for each of its effects on an existing document, and its examples, whose documents
/// may be missing.
pub(super) fn valid_calls(bench: &Bench<'_>, tool: &'static ToolSpec) -> Vec<Call> {
    let with = With { path: DOCUMENT, content: "## Scope\n\nLess of it.\n", target: "## Scope" };
    let about = bench.subject.requests(with).into_iter();
    let mut calls: Vec<_> = about.filter(|call| call.tool.label() == tool.label()).collect();
    calls.extend(request::examples(tool).map(|arguments| Call { tool, arguments }));
    calls
}

/// Returns a read call, which should succeed.
pub(super) fn read_call(bench: &Bench<'_>) -> Result<Call, Stop> {
    let with = With { path: DOCUMENT, ..With::default() };
    let reading = bench.subject.placed(EffectKind::Read, with);
    // Without declared effects, any tool with `readOnlyHint` does.
    let reading = reading.or_else(|| {
        let mut tools = bench.subject.contract.tools.iter().filter(|tool| !tool.mutating);
        tools.find_map(|tool| {
            let arguments = request::examples(tool).next()?;
            contracts::is_declared(bench.subject.contract).then_some(Call { tool, arguments })
        })
    });
    reading.ok_or_else(|| not_applicable("the server has no tool that reads a document"))
}

/// Skips servers behind an adapter.
pub(super) fn native_only(bench: &Bench<'_>) -> Judgement {
    if bench.subject.has_own_schemas() {
        return Ok(());
    }
    Err(mapped_tools())
}

/// Skips servers behind HTTP, which have no standard input and output.
pub(super) fn lines_only(bench: &Bench<'_>) -> Judgement {
    if !bench.subject.launch.is_http() {
        return Ok(());
    }
    Err(not_applicable("the check tests standard input and output, and the server speaks HTTP"))
}

/// Returns the id of a case's request.
pub(super) fn id(number: usize) -> Value {
    json!(number + 1)
}

/// Fails unless `message` is an error or a tool result with `isError`.
pub(super) fn ensure_refused(message: &Value) -> Judgement {
    ensure(Refusal::from_message(message).is_some(), || {
        format!("the request was answered with success: {}", short(&message["result"]))
    })
}

/// Returns a value as JSON, truncated to 300 bytes.
pub(super) fn short(value: &Value) -> String {
    let text = value.to_string();
    let end = text.floor_char_boundary(300);
    if end < text.len() { format!("{}…", &text[..end]) } else { text }
}
