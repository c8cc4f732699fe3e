//! Checks the list of tools against the contract.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tabellion_runtime::ToolSpec;

use super::{id, library, read_call, short};
use crate::{
    check::{Bench, Case, Check, Severity, as_small_as_can_be},
    judgement::{Judgement, Stop, ensure, fail},
    talk::Talk,
};

pub(super) const CHECK: Check = Check {
    id: "wire/tools-list",
    severity: Severity::Must,
    guarantees: &[],
    states: "The list of tools equals the contract's, and never changes.",
    explains: "Compares names and their order, descriptions, input and output schemas and annotations with the \
               contract, as JSON. The list must be the same in a second request, after calls, and from a second \
               server.",
    cases,
    judge,
    shrink: as_small_as_can_be,
};

/// Maximum number of pages of the list; more suggest an endless list.
const MAX_PAGES: usize = 1_000;

/// The list that the first one is compared with.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Comparison {
    WithContract,
    Again,
    AfterCalls,
    SecondServer,
}

fn cases(_: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    Ok(vec![
        Case::new("the contract", Comparison::WithContract),
        Case::new("a second request", Comparison::Again),
        Case::new("after calls", Comparison::AfterCalls),
        Case::new("a second server", Comparison::SecondServer),
    ])
}

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let comparison: Comparison = case.read()?;
    let scene = library(bench)?;
    let mut talk = Talk::open(bench.subject, &scene)?;
    let first = list_tools(&mut talk)?;
    let second = match comparison {
        Comparison::WithContract => {
            if !bench.subject.is_native() {
                return Err(Stop::NotApplicable(
                    "the server's tools are not the contract's own".into(),
                ));
            }
            return judge_contract(bench, &first);
        }
        Comparison::Again => list_tools(&mut talk)?,
        Comparison::AfterCalls => {
            let call = read_call(bench)?;
            let params = talk.params(&scene, call.tool, &call.arguments)?;
            talk.ask(&json!("call"), "tools/call", params)?;
            talk.ask(
                &json!("bad"),
                "tools/call",
                json!({ "name": "conformance-unknown" }),
            )?;
            list_tools(&mut talk)?
        }
        Comparison::SecondServer => list_tools(&mut Talk::open(bench.subject, &scene)?)?,
    };
    ensure(first == second, || {
        "the second list of tools differs from the first".into()
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
    let names: Vec<_> = listed
        .iter()
        .map(|tool| tool["name"].as_str().unwrap_or_default())
        .collect();
    let expected: Vec<_> = tools.iter().map(|tool| tool.name).collect();
    ensure(names == expected, || {
        format!(
            "the tools are {} instead of {}",
            names.join(", "),
            expected.join(", ")
        )
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
    format!("`{pointer}` is {} instead of {}", short(found), short(expected))
}
