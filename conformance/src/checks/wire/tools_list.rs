//! Checks the list of tools against the contract.

use super::calls::{id, library, read_call, short};
use crate::checks::prelude::*;

pub(super) const CHECK: Check = Check {
    id: "wire/tools-list",
    guarantees: &[],
    states: "The list of tools equals the contract's, if there is one, and changes only if the server says so.",
    explains: "Compares names and their order, descriptions, input and output schemas and annotations with the \
               contract, as JSON. The list must be the same in a second request and after calls, unless the server has \
               sent `notifications/tools/list_changed`.",
    cases,
    ..Check::must(judge)
};

pub(super) const STARTS: Check = Check {
    id: "wire/tools-list-starts",
    guarantees: &[],
    states: "Each start of the server lists the same tools in the same order.",
    explains: "Clients and models cache the list, and prompts that begin with it; an order from a hash table defeats that. \
               Compares the lists of two servers, as JSON.",
    ..Check::should(judge_starts)
};

/// Maximum number of pages of the list; more suggest an endless list.
const MAX_PAGES: usize = 1_000;

/// Bytes of a text that are shown before the first difference.
const CONTEXT: usize = 40;

named! {
    /// The list that the first one is compared with.
    enum Comparison {
        WithContract = "the contract",
        Again = "a second request",
        AfterCalls = "after calls",
    }
}

fn cases(_: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    Ok(Comparison::ALL.map(|comparison| Case::new(comparison.name(), comparison)).into())
}

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let comparison: Comparison = case.read()?;
    let scene = library(bench)?;
    let mut talk = Talk::open(bench.subject, &scene)?;
    let first = list_tools(&mut talk)?;
    let second = match comparison {
        Comparison::WithContract => {
            if !bench.subject.is_native() {
                return Err(not_applicable("the server's tools are not the contract's own"));
            }
            return judge_contract(bench, &first);
        }
        Comparison::Again => list_tools(&mut talk)?,
        Comparison::AfterCalls => {
            let call = read_call(bench)?;
            let params = talk.params(&scene, call.tool, &call.arguments)?;
            talk.ask(&json!("call"), "tools/call", params)?;
            talk.ask(&json!("bad"), "tools/call", json!({ "name": "conformance-unknown" }))?;
            list_tools(&mut talk)?
        }
    };
    let is_announced = |message: &Value| message["method"] == "notifications/tools/list_changed";
    if !bench.subject.is_native() && talk.heard.iter().any(is_announced) {
        return Ok(());
    }
    same(&first, &second)
}

fn judge_starts(bench: &Bench<'_>, _: &Case) -> Judgement {
    let scene = library(bench)?;
    let first = list_tools(&mut Talk::open(bench.subject, &scene)?)?;
    let second = list_tools(&mut Talk::open(bench.subject, &scene)?)?;
    same(&first, &second)
}

fn same(first: &[Value], second: &[Value]) -> Judgement {
    let names = |tools: &[Value]| -> Vec<_> { tools.iter().map(|tool| tool["name"].clone()).collect() };
    let (before, after) = (names(first), names(second));
    ensure(before == after, || {
        let (before, after) = (short(&before.into()), short(&after.into()));
        format!("the second list has the tools {after}, the first {before}")
    })?;
    let differs = first.iter().zip(second).find(|(one, other)| one != other);
    differs.map_or(Ok(()), |(one, other)| {
        let (tool, how) = (&one["name"], difference(one, other));
        Err(fail(format!("in the second list, {how} in the tool {tool}")))
    })
}

/// Requests all pages of the list.
fn list_tools(talk: &mut Talk<'_>) -> Result<Vec<Value>, Stop> {
    let (mut tools, mut params) = (Vec::new(), json!({}));
    for page in 0..MAX_PAGES {
        let id = id(talk.heard.len() * MAX_PAGES + page);
        let answer = talk.ask(&id, "tools/list", params)?;
        let Some(more) = answer["result"]["tools"].as_array() else {
            return Err(fail(format!("`tools/list` was answered with {}", short(&answer))));
        };
        tools.extend(more.iter().cloned());
        match answer["result"]["nextCursor"].as_str() {
            None => return Ok(tools),
            Some(cursor) => params = json!({ "cursor": cursor }),
        }
    }
    Err(fail(format!("the list of tools has more than {MAX_PAGES} pages")))
}

fn judge_contract(bench: &Bench<'_>, listed: &[Value]) -> Judgement {
    let tools = bench.subject.contract.tools;
    let names: Vec<_> = listed.iter().map(|tool| tool["name"].as_str().unwrap_or_default()).collect();
    let expected: Vec<_> = tools.iter().map(|tool| tool.name).collect();
    ensure(names == expected, || {
        format!("the tools are {} instead of {}", names.join(", "), expected.join(", "))
    })?;
    for (listed, tool) in listed.iter().zip(tools) {
        for (member, expected) in definition(tool) {
            let found = listed.get(member).cloned().unwrap_or_default();
            ensure(found == expected, || {
                format!(
                    "`{member}` of `{}` is not the contract's: {}",
                    tool.name,
                    difference(&expected, &found)
                )
            })?;
        }
        for (hint, expected) in hints(tool) {
            let found = &listed["annotations"][hint];
            ensure(found == expected, || {
                format!("`{hint}` of `{}` is {found} instead of {expected}", tool.name)
            })?;
        }
    }
    Ok(())
}

/// Returns the members of a tool's definition except its annotations.
fn definition(tool: &ToolSpec) -> [(&'static str, Value); 3] {
    [
        ("description", tool.description.into()),
        ("inputSchema", tool.input.wire()),
        ("outputSchema", tool.output.wire()),
    ]
}

fn hints(tool: &ToolSpec) -> [(&'static str, bool); 4] {
    let annotations = tool.annotations;
    [
        ("readOnlyHint", annotations.read_only),
        ("destructiveHint", annotations.destructive),
        ("idempotentHint", annotations.idempotent),
        ("openWorldHint", annotations.open_world),
    ]
}

/// Describes the first difference.
fn difference(expected: &Value, found: &Value) -> String {
    let mut pointer = String::new();
    let (mut expected, mut found) = (expected, found);
    while let (Value::Object(one), Value::Object(other)) = (expected, found) {
        let mut names = one.keys().chain(other.keys());
        let Some(name) = names.find(|name| one.get(*name) != other.get(*name)) else {
            break;
        };
        pointer = format!("{pointer}/{name}");
        expected = one.get(name).unwrap_or(&Value::Null);
        found = other.get(name).unwrap_or(&Value::Null);
    }
    // The part of two texts that differs.
    if let (Value::String(one), Value::String(other)) = (expected, found) {
        let alike = one.chars().zip(other.chars()).take_while(|(one, other)| one == other);
        let start: usize = alike.map(|(it, _)| it.len_utf8()).sum();
        let start = one.floor_char_boundary(start.saturating_sub(CONTEXT));
        let (one, other) = (one[start..].into(), other[start..].into());
        return format!("`{pointer}` has {} instead of {}", short(&other), short(&one));
    }
    format!("`{pointer}` is {} instead of {}", short(found), short(expected))
}
