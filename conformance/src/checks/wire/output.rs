//! Checks structured results against the output schemas of the server and the contract.

use tabellion_runtime::schema::compile_any;

use super::calls::{id, library, native_only, short, valid_calls};
use crate::{check::one_by_one, checks::prelude::*, generate::Inputs, reply};

pub(super) const CHECK: Check = Check {
    id: "wire/output-schema",
    guarantees: &[],
    states: "A call's result validates against the output schema; an error contains nothing that breaks \
            it.",
    explains: "Makes valid and invalid calls of all tools. A successful result's `structuredContent` must satisfy the \
               schema from `tools/list` and, without an adapter, the contract's rules. A failed call has no \
               `structuredContent`, or one that satisfies the schema, since clients validate it regardless of \
               `isError`.",
    cases,
    shrink,
    ..Check::must(|bench, case| judge(bench, case, judge_structured))
};

pub(super) const TEXT: Check = Check {
    id: "wire/text-mirrors-structure",
    guarantees: &[],
    states: "The text of a result is the JSON of its structured content.",
    explains: "Clients without support for structured content show the text. According to MCP, the text should be the \
               serialized JSON. Parses the text and compares it with the structured content. For a contract with `errorBody`, the text of \
               an error is its sentence.",
    cases: |bench| {
        native_only(bench)?;
        cases(bench)
    },
    shrink,
    ..Check::should(|bench, case| judge(bench, case, judge_text))
};

/// Calls of one tool, in one session.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Calls {
    tool: String,
    calls: Vec<Value>,
}

fn cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let cases = bench.subject.operations().map(|tool| {
        let valid = valid_calls(bench, tool).into_iter().map(|call| call.arguments);
        let invalid =
            Inputs::generate(bench.subject.contract, tool).invalid.into_iter().take(bench.pick(10, 100));
        let calls = valid.chain(invalid.map(|input| input.arguments)).collect();
        let tool = tool.label().to_owned();
        Case::new(format!("calls of {tool}"), Calls { tool, calls })
    });
    Ok(cases.collect())
}

type Judge = fn(&Bench<'_>, &Case, &Value, &Value) -> Judgement;

fn judge(bench: &Bench<'_>, case: &Case, judge: Judge) -> Judgement {
    let calls: Calls = case.read()?;
    let tool = bench.tool(&calls.tool)?;
    let scene = library(bench)?;
    let mut talk = Talk::open(bench.subject, &scene)?;
    let list = talk.ask(&json!("list"), "tools/list", json!({}))?;
    for (number, arguments) in calls.calls.iter().enumerate() {
        let params = talk.params(&scene, tool, arguments)?;
        let name = params["name"].clone();
        let answer = talk.ask(&id(number), "tools/call", params)?;
        let listed = list["result"]["tools"].as_array().into_iter().flatten();
        let schema = listed.clone().find(|listed| listed["name"] == name);
        let schema = schema.and_then(|listed| listed.get("outputSchema")).cloned().unwrap_or_default();
        if answer["result"]["resultType"] != "input_required" {
            judge(bench, case, &schema, &answer["result"])?;
        }
    }
    Ok(())
}

fn judge_structured(bench: &Bench<'_>, case: &Case, schema: &Value, result: &Value) -> Judgement {
    let Some(structured) = result.get("structuredContent") else {
        let is_required = !schema.is_null() && result.is_object() && result["isError"] != true;
        return ensure(!is_required, || {
            "a successful call has no `structuredContent`, but the tool has an output schema".into()
        });
    };
    if !schema.is_null() {
        let validator = compile_any(schema);
        let validator =
            validator.map_err(|why| fail(format!("the listed output schema is invalid: {why}")))?;
        ensure(validator.is_valid(structured), || {
            let failed = if result["isError"] == true { "of a failed call " } else { "" };
            format!(
                "`structuredContent` {failed}does not satisfy the tool's output schema: {}",
                short(structured)
            )
        })?;
    }
    if !bench.subject.is_native() || is_error_body(bench, result) {
        return Ok(());
    }
    let calls: Calls = case.read()?;
    bench.tool(&calls.tool)?.output.check(structured).map_err(|violations| {
        let violations: Vec<_> = violations.iter().map(ToString::to_string).collect();
        fail(format!("the result breaks the contract: {}: {}", violations.join("; "), short(structured)))
    })
}

/// Returns true if the structured content is the object that the contract has for errors.
fn is_error_body(bench: &Bench<'_>, result: &Value) -> bool {
    result["isError"] == true && bench.subject.contract.error_body.is_some()
}

fn judge_text(bench: &Bench<'_>, _: &Case, _: &Value, result: &Value) -> Judgement {
    // The text of an error is its sentence.
    let structured = result.get("structuredContent").filter(|_| !is_error_body(bench, result));
    let Some(structured) = structured else {
        return Ok(());
    };
    let blocks = result["content"].as_array().into_iter().flatten();
    let mut texts = blocks.filter_map(|block| block["text"].as_str());
    let is_mirrored =
        texts.any(|text| serde_json::from_str::<Value>(text).is_ok_and(|text| text == *structured));
    ensure(is_mirrored, || {
        let text = Value::from(reply::text(result));
        format!("the text is {}, but the structured content is {}", short(&text), short(structured))
    })
}

/// Returns each call as a case of its own.
fn shrink(case: &Case) -> Vec<Case> {
    one_by_one(case, |calls: &mut Calls| &mut calls.calls)
}
