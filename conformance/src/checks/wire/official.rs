//! Checks every message against MCP's official schema.

use super::calls::{id, library, valid_calls};
use crate::{check::one_by_one, checks::prelude::*, era::Era, generate::Inputs, official, talk::is_answer};

pub(super) const CHECK: Check = Check {
    id: "wire/official-schema",
    guarantees: &[],
    states: "Every message of the server validates against MCP's official schema of the revision.",
    explains: "Makes valid and invalid calls of every tool, and sends the other requests. Every result, error and \
               notification must satisfy the schema for its method. A reserved error code must be one that the \
               specification defines.",
    cases,
    shrink: |case| one_by_one(case, |requests: &mut Vec<ValidatedRequest>| requests),
    ..Check::must(judge)
};

/// A request: a method and its parameters, or a contract's tool and its arguments.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ValidatedRequest {
    Call(String, Value),
    Request(String, Value),
}

fn cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let mut cases = vec![Case::new("requests other than calls", other_requests(bench.subject.era))];
    for tool in bench.subject.operations() {
        let mut requests: Vec<_> = valid_calls(bench, tool)
            .into_iter()
            .map(|call| ValidatedRequest::Call(tool.label().into(), call.arguments))
            .collect();
        let invalid = Inputs::generate(bench.subject.contract, tool).invalid.into_iter();
        let some = invalid.take(bench.pick(30, usize::MAX));
        requests.extend(some.map(|input| ValidatedRequest::Call(tool.label().into(), input.arguments)));
        cases.push(Case::new(format!("valid and invalid calls of {}", tool.label()), requests));
    }
    Ok(cases)
}

fn other_requests(era: Era) -> Vec<ValidatedRequest> {
    let first = match era {
        Era::Session => "ping",
        Era::Stateless => "server/discover",
    };
    let requests = [
        (first, json!({})),
        ("tools/list", json!({})),
        ("tools/list", json!({ "cursor": "conformance-unknown" })),
        ("tools/call", json!({ "name": "conformance-unknown", "arguments": {} })),
        ("tools/call", json!({})),
        ("tools/call", json!({ "name": 7 })),
        ("conformance/unknown", json!({})),
        ("resources/list", json!({})),
        ("prompts/get", json!({ "name": "conformance-unknown" })),
        ("logging/setLevel", json!({ "level": "conformance-unknown" })),
    ];
    let request = |(method, params): (&str, Value)| ValidatedRequest::Request(method.into(), params);
    requests.map(request).into()
}

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let requests: Vec<ValidatedRequest> = case.read()?;
    let era = bench.subject.era;
    let scene = library(bench)?;
    let mut talk = Talk::open(bench.subject, &scene)?;
    let revision = match era {
        Era::Session => {
            let mut messages = talk.heard.iter();
            let agreed = messages.find_map(|message| message["result"]["protocolVersion"].as_str());
            agreed.unwrap_or(era.revision()).to_owned()
        }
        Era::Stateless => era.revision().to_owned(),
    };
    let mut has_request = false;
    for (number, request) in requests.into_iter().enumerate() {
        let (method, params) = match request {
            ValidatedRequest::Request(method, params) => (method, params),
            ValidatedRequest::Call(name, arguments) => {
                let Ok(params) = talk.params(&scene, bench.tool(&name)?, &arguments) else {
                    continue;
                };
                ("tools/call".into(), params)
            }
        };
        has_request = true;
        talk.ask(&id(number), &method, params)?;
    }
    if !has_request {
        return Err(not_applicable("the server has no tool for these calls"));
    }
    talk.settle(0)?;
    for message in &talk.heard {
        let method = talk.method_of(message);
        official::check(&revision, method, message)
            .map_err(|violation| violation.in_message(&super::calls::short(message)))?;
        if is_answer(message) && era == Era::Stateless {
            judge_stateless(message)?;
        }
    }
    Ok(())
}

/// Judges the requirements of 2026-07-28 on results and errors beyond its schema.
fn judge_stateless(message: &Value) -> Judgement {
    let result = &message["result"];
    ensure(result["inputRequests"].as_object().is_none_or(serde_json::Map::is_empty), || {
        "the server requests input, but the client has not declared that capability".into()
    })?;
    let Some(code) = message["error"]["code"].as_i64() else {
        return Ok(());
    };
    let reserved = (-32099..=-32020).contains(&code) && !(-32022..=-32020).contains(&code);
    ensure(!reserved && code != -32002 && code != -32042, || {
        format!("error code {code} is reserved by the specification")
    })
}
