//! The list of tools, as the contract has it.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tabellion_runtime::ToolSpec;

use super::{harmless, id, library, native_only, short};
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
    explains: "Names and their order, descriptions, input and output schemas and annotations are compared with the contract, \
               as JSON. The list must be the same when it is asked for again, after calls, and of a second server.",
    cases,
    judge,
    shrink: as_small_as_can_be,
};

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Compared {
    WithContract,
    Again,
    AfterCalls,
    SecondServer,
}

fn cases(_: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    Ok(vec![
        Case::new("compared with the contract", Compared::WithContract),
        Case::new("asked for again", Compared::Again),
        Case::new("after calls", Compared::AfterCalls),
        Case::new("of a second server", Compared::SecondServer),
    ])
}

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let compared: Compared = case.read()?;
    let scene = library(bench)?;
    let mut talk = Talk::open(bench.subject, &scene)?;
    let first = list(&mut talk)?;
    let second = match compared {
        Compared::WithContract => {
            native_only(bench)?;
            return with_contract(bench, &first);
        }
        Compared::Again => list(&mut talk)?,
        Compared::AfterCalls => {
            let call = harmless(bench)?;
            let params = talk.params(&scene, call.tool, &call.arguments)?;
            talk.ask(&json!("call"), "tools/call", params)?;
            talk.ask(
                &json!("bad"),
                "tools/call",
                json!({ "name": "conformance-unknown" }),
            )?;
            list(&mut talk)?
        }
        Compared::SecondServer => list(&mut Talk::open(bench.subject, &scene)?)?,
    };
    ensure(first == second, || {
        "the list of tools differs the second time".into()
    })
}

/// All pages of the list.
fn list(talk: &mut Talk<'_>) -> Result<Vec<Value>, Stop> {
    let (mut tools, mut params) = (Vec::new(), json!({}));
    // A list with more pages than any server has tools does not end.
    for page in 0..1_000 {
        let asked = id(talk.heard.len() * 1_000 + page);
        let answer = talk.ask(&asked, "tools/list", params)?;
        let Some(more) = answer["result"]["tools"].as_array() else {
            return Err(fail(format!("`tools/list` was answered with {}", short(&answer))));
        };
        tools.extend(more.iter().cloned());
        match answer["result"]["nextCursor"].as_str() {
            None => return Ok(tools),
            Some(cursor) => params = json!({ "cursor": cursor }),
        }
    }
    Err(fail("the list of tools has no end"))
}

fn with_contract(bench: &Bench<'_>, listed: &[Value]) -> Judgement {
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
        for (member, expected) in shown(tool) {
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

/// What clients are to see of a tool.
fn shown(tool: &ToolSpec) -> [(&'static str, Value); 3] {
    [
        ("description", tool.description.into()),
        ("inputSchema", tool.input.wire()),
        ("outputSchema", tool.output.wire()),
    ]
}

fn hints(tool: &ToolSpec) -> [(&'static str, bool); 4] {
    let said = tool.annotations;
    [
        ("readOnlyHint", said.read_only),
        ("destructiveHint", said.destructive),
        ("idempotentHint", said.idempotent),
        ("openWorldHint", said.open_world),
    ]
}

/// The first place where both differ, and what stands there.
fn difference(expected: &Value, found: &Value) -> String {
    let mut place = String::new();
    let (mut expected, mut found) = (expected, found);
    while let (Value::Object(one), Value::Object(other)) = (expected, found) {
        let mut names = one.keys().chain(other.keys());
        let Some(name) = names.find(|name| one.get(*name) != other.get(*name)) else {
            break;
        };
        place = format!("{place}/{name}");
        expected = one.get(name).unwrap_or(&Value::Null);
        found = other.get(name).unwrap_or(&Value::Null);
    }
    format!("`{place}` is {} instead of {}", short(found), short(expected))
}
