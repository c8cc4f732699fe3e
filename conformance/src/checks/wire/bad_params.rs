//! Checks of malformed calls.

use super::calls::{ensure_refused, id, library, short};
use crate::{check::one_by_one, checks::prelude::*};

pub(super) const CHECK: Check = Check {
    id: "wire/bad-params",
    guarantees: &["errors-write-nothing", "refusals-write-nothing", "errors-change-nothing"],
    states: "A call without a name, without an arguments object or of an unknown tool is refused, and \
            changes nothing.",
    explains: "Calls each tool with arguments that are not an object; also sends calls without a name or of an unknown \
               tool. Each must be answered with an error or a result with `isError`, and the library must be \
               unchanged.",
    cases,
    shrink,
    ..Check::must(|bench, case| judge(bench, case, |_| Ok(())))
};

pub(super) const CODE: Check = Check {
    id: "wire/bad-params-code",
    guarantees: &[],
    states: "A call without a name, without an arguments object or of an unknown tool is answered with \
            JSON-RPC error -32602.",
    explains: "In MCP, unknown tools and malformed calls are protocol errors rather than tool results; its example has \
               code -32602.",
    cases,
    shrink,
    ..Check::should(|bench, case| {
        judge(bench, case, |answer| {
            ensure(answer["error"]["code"] == -32602, || {
                format!("the call was answered with {} instead of error -32602", short(answer))
            })
        })
    })
};

/// Malformed `params` of a call.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum BadParams {
    /// Complete parameters.
    Params(Value),
    /// Valid parameters of a tool, with these arguments.
    Arguments(String, Value),
}

fn cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let params = [
        json!({ "arguments": {} }),
        json!({}),
        json!({ "name": null, "arguments": {} }),
        json!({ "name": 7, "arguments": {} }),
        json!({ "name": ["x"], "arguments": {} }),
        json!({ "name": "", "arguments": {} }),
        json!({ "name": "conformance-unknown", "arguments": {} }),
        json!({ "name": "__proto__", "arguments": {} }),
        json!([]),
        json!("x"),
        Value::Null,
    ];
    let params: Vec<_> = params.into_iter().map(BadParams::Params).collect();
    let mut cases = vec![Case::new("parameters without a known tool", params)];
    for tool in bench.subject.operations() {
        let arguments = [json!([]), json!("{}"), json!(7), json!([{}])];
        let bad = arguments.map(|arguments| BadParams::Arguments(tool.label().into(), arguments));
        cases.push(Case::new(format!("arguments of {} that are not an object", tool.label()), bad));
    }
    Ok(cases)
}

fn judge(bench: &Bench<'_>, case: &Case, judge_answer: fn(&Value) -> Judgement) -> Judgement {
    let scene = library(bench)?;
    let mut talk = Talk::open(bench.subject, &scene)?;
    let before = scene.view()?;
    let bad: Vec<BadParams> = case.read()?;
    for (number, bad) in bad.into_iter().enumerate() {
        let params = match bad {
            BadParams::Params(params) => params,
            BadParams::Arguments(name, arguments) => {
                let tool = bench.tool(&name)?;
                let call = super::calls::valid_calls(bench, tool).into_iter().next();
                let call = call.ok_or_else(|| not_applicable("the tool has no valid example"))?;
                let mut params = talk.params(&scene, tool, &call.arguments)?;
                params["arguments"] = arguments;
                params
            }
        };
        let answer = talk.ask(&id(number), "tools/call", params)?;
        ensure_refused(&answer)?;
        judge_answer(&answer)?;
    }
    talk.settle(0)?;
    before.same(&scene.view()?, "a refused call")
}

/// Returns each call as a case of its own.
fn shrink(case: &Case) -> Vec<Case> {
    one_by_one(case, |bad: &mut Vec<BadParams>| bad)
}
