//! Every message against MCP's own schema.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{id, library, tool, valid_calls};
use crate::{
    check::{Bench, Case, Check, Severity},
    era::Era,
    generate::Inputs,
    judgement::{Judgement, Stop, ensure, fail},
    official,
    talk::{Talk, is_answer},
};

pub(super) const CHECK: Check = Check {
    id: "wire/official-schema",
    severity: Severity::Must,
    guarantees: &[],
    states: "Every message of the server satisfies MCP's official schema of the revision that is spoken.",
    explains: "A session with good and bad calls of every tool, and one of the other requests, is held. Every message that \
               the server sends is held against the schema, by what it answers: results, errors, notifications. Error \
               codes that the specification keeps for itself must be those that it defines.",
    cases,
    judge,
    shrink,
};

/// What is asked in a session: methods and parameters; of calls, the contract's tool and arguments.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Asked {
    Call(String, Value),
    Request(String, Value),
}

fn cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let mut cases = vec![Case::new("requests other than calls", others(bench.subject.era))];
    for tool in bench.subject.tools() {
        let mut asked: Vec<_> = valid_calls(bench, tool)
            .into_iter()
            .map(|call| Asked::Call(tool.name.into(), call.arguments))
            .collect();
        let invalid = Inputs::of(tool).invalid.into_iter();
        let some = invalid.take(bench.pick(30, usize::MAX));
        asked.extend(some.map(|input| Asked::Call(tool.name.into(), input.arguments)));
        cases.push(Case::new(format!("good and bad calls of {}", tool.name), asked));
    }
    Ok(cases)
}

fn others(era: Era) -> Vec<Asked> {
    let first = match era {
        Era::Session => "ping",
        Era::Stateless => "server/discover",
    };
    let requests = [
        (first, json!({})),
        ("tools/list", json!({})),
        ("tools/list", json!({ "cursor": "conformance-unknown" })),
        (
            "tools/call",
            json!({ "name": "conformance-unknown", "arguments": {} }),
        ),
        ("tools/call", json!({})),
        ("tools/call", json!({ "name": 7 })),
        ("conformance/unknown", json!({})),
        ("resources/list", json!({})),
        ("prompts/get", json!({ "name": "conformance-unknown" })),
        ("logging/setLevel", json!({ "level": "conformance-unknown" })),
    ];
    let asked = |(method, params): (&str, Value)| Asked::Request(method.into(), params);
    requests.map(asked).into()
}

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let asked: Vec<Asked> = case.read()?;
    let era = bench.subject.era;
    let scene = library(bench)?;
    let mut talk = Talk::open(bench.subject, &scene)?;
    let revision = match era {
        Era::Session => {
            let mut heard = talk.heard.iter();
            let agreed = heard.find_map(|said| said["result"]["protocolVersion"].as_str());
            agreed.unwrap_or(era.revision()).to_owned()
        }
        Era::Stateless => era.revision().to_owned(),
    };
    let mut applies = false;
    for (number, asked) in asked.into_iter().enumerate() {
        let (method, params) = match asked {
            Asked::Request(method, params) => (method, params),
            Asked::Call(name, arguments) => {
                let Ok(params) = talk.params(&scene, tool(bench, &name)?, &arguments) else {
                    continue;
                };
                ("tools/call".into(), params)
            }
        };
        applies = true;
        talk.ask(&id(number), &method, params)?;
    }
    if !applies {
        return Err(Stop::NotApplicable(
            "the server has nothing for these calls".into(),
        ));
    }
    talk.settle(0)?;
    for message in &talk.heard {
        let method = talk.method_of(message);
        official::check(&revision, method, message)
            .map_err(|why| fail(format!("{why}: {}", super::short(message))))?;
        if is_answer(message) && era == Era::Stateless {
            stateless(message)?;
        }
    }
    Ok(())
}

/// What 2026-07-28 says of results and errors besides its schema.
fn stateless(message: &Value) -> Judgement {
    let result = &message["result"];
    ensure(
        result["inputRequests"]
            .as_object()
            .is_none_or(serde_json::Map::is_empty),
        || "the server asks for input that the client has not offered to give".into(),
    )?;
    let Some(code) = message["error"]["code"].as_i64() else {
        return Ok(());
    };
    let reserved = (-32099..=-32020).contains(&code) && !(-32022..=-32020).contains(&code);
    ensure(!reserved && code != -32002 && code != -32042, || {
        format!("error code {code} is kept by the specification and must not be used")
    })
}

/// Each request by itself.
fn shrink(case: &Case) -> Vec<Case> {
    let asked: Vec<Asked> = case.read().unwrap_or_default();
    if asked.len() < 2 {
        return Vec::new();
    }
    let one = |(number, asked)| Case::new(format!("{}, only number {}", case.name, number + 1), vec![asked]);
    asked.into_iter().enumerate().map(one).collect()
}
