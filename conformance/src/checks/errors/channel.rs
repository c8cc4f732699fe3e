//! Every refusal is a JSON-RPC error.

use tabellion_runtime::{
    context::{IDEMPOTENCY_KEY, IF_BASE},
    pointer,
    spec::ErrorChannel,
};

use super::calls::call;
use crate::{
    checks::{prelude::*, provenance::said},
    judgement::mapped_tools,
    request,
};

pub(super) const CHECK: Check = Check {
    id: "errors/channel",
    guarantees: &["errors-are-json-rpc"],
    states: "Every refusal is a JSON-RPC error with a code of the contract, and never a result.",
    explains: "Provokes every kind of refusal that the contract makes possible, with each operation: an unknown tool, missing, unknown and \
               ill-typed arguments, unknown selectors, the contract's invalid examples, rows that are not there, conditions that do not \
               hold, an idempotency key that was used, missing provenance, a mode that does not exist. A result with `isError`, an \
               error without a message, or one with a code that the contract does not have, fails.",
    cases,
    ..Check::must(judge)
};

named! {
    /// A kind of refusal.
    enum Kind {
        UnknownTool = "an unknown tool",
        NoArguments = "no arguments",
        UnknownArgument = "an unknown argument",
        IllTyped = "arguments of other types",
        UnknownSelector = "an unknown operation",
        InvalidExample = "the contract's invalid examples",
        NothingThere = "what is not there",
        OtherBase = "a condition that does not hold",
        UsedKey = "an idempotency key that was used",
        NoProvenance = "no provenance",
        UnknownMode = "an unknown mode",
    }
}

/// A call that should be refused.
struct Wrong {
    name: &'static str,
    arguments: Value,
    meta: Map<String, Value>,
}

fn cases(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let contract = bench.subject.contract;
    if contract.error_channel != ErrorChannel::JsonRpc {
        return Err(not_applicable("the contract's errors are results"));
    }
    if !bench.subject.is_native() {
        return Err(mapped_tools());
    }
    let is_possible = |kind| match kind {
        Kind::UnknownMode => contract
            .modes
            .is_some_and(|modes| modes.env.is_some() && bench.subject.launch.running().is_none()),
        kind => !calls(bench, kind).is_empty(),
    };
    let possible = Kind::ALL.into_iter().filter(|kind| is_possible(*kind));
    Ok(possible.map(|kind| Case::new(kind.name(), kind)).collect())
}

fn calls(bench: &Bench<'_>, kind: Kind) -> Vec<Wrong> {
    let contract = bench.subject.contract;
    let meta = || said::full_meta(contract.provenance, 1);
    let wrong = |name, arguments, meta| Wrong { name, arguments, meta };
    let with = |key: &str, value: &str| {
        let mut meta = meta();
        meta.insert(key.to_owned(), value.into());
        meta
    };
    let examples = || {
        let all = contract.operations();
        all.flat_map(|tool| request::examples(tool).map(move |example| (tool, example)))
    };
    let changed = |change: fn(&ToolSpec, &mut Map<String, Value>)| {
        let all = examples().filter_map(|(tool, mut example)| {
            change(tool, example.as_object_mut()?);
            Some(wrong(tool.name, example, meta()))
        });
        all.collect()
    };
    match kind {
        Kind::UnknownTool => vec![wrong("no-such-tool", json!({}), meta())],
        Kind::NoArguments => {
            let tools = contract.tools.iter();
            tools.map(|tool| wrong(tool.name, json!({}), meta())).collect()
        }
        Kind::UnknownArgument => changed(|_, example| {
            example.insert("no-such-argument".to_owned(), 1.into());
        }),
        Kind::IllTyped => changed(|tool, example| {
            for (name, value) in example.iter_mut().filter(|(name, _)| !is_selector(tool, name)) {
                *value = if value.is_object() { json!(17) } else { json!({ name.as_str(): [] }) };
            }
        }),
        Kind::UnknownSelector => changed(|tool, example| {
            for (name, value) in example.iter_mut().filter(|(name, _)| is_selector(tool, name)) {
                *value = format!("no-such-{name}").into();
            }
        }),
        Kind::InvalidExample => {
            let all = contract.operations();
            let all = all.flat_map(|tool| request::invalid_examples(tool).map(move |it| (tool.name, it)));
            all.map(|(name, example)| wrong(name, example, meta())).collect()
        }
        // In an empty store, calls that name a row are refused.
        Kind::NothingThere => changed(|_, _| {}),
        Kind::OtherBase => {
            let all = examples().filter(|(tool, _)| tool.mutating);
            all.map(|(tool, example)| wrong(tool.name, example, with(IF_BASE, "no-such-base"))).collect()
        }
        Kind::UsedKey => {
            let all = examples().filter(|(tool, _)| tool.mutating);
            all.map(|(tool, example)| wrong(tool.name, example, with(IDEMPOTENCY_KEY, "the-same-key")))
                .collect()
        }
        Kind::NoProvenance if contract.provenance.is_none() => Vec::new(),
        Kind::NoProvenance => {
            examples().map(|(tool, example)| wrong(tool.name, example, Map::new())).collect()
        }
        Kind::UnknownMode => examples().map(|(tool, example)| wrong(tool.name, example, meta())).collect(),
    }
}

fn is_selector(tool: &ToolSpec, name: &str) -> bool {
    let selectors = tool.operation.map_or(&[][..], |operation| operation.select);
    let mut names = selectors.iter().filter_map(|selector| pointer::split_last(selector));
    names.any(|(_, last)| last == name)
}

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let kind: Kind = case.read()?;
    let scene = said::scene(bench)?;
    let variable = bench.subject.contract.modes.and_then(|modes| modes.env);
    let mut client = match variable.filter(|_| kind == Kind::UnknownMode) {
        Some(name) => scene.start_by(|command| {
            command.env(name, "no-such-mode");
        })?,
        None => scene.start()?,
    };
    for Wrong { name, arguments, meta } in calls(bench, kind) {
        let answer = call(&mut client, name, &arguments, meta)?;
        let what = format!("{} (`{name}` with {arguments})", case.name);
        judge_one(bench, &what, &answer)?;
    }
    Ok(client.close()?)
}

/// Judges an answer if it is a refusal; other checks judge successes.
fn judge_one(bench: &Bench<'_>, what: &str, answer: &Value) -> Judgement {
    let Some(error) = answer.get("error") else {
        return ensure(answer["result"]["isError"] != true, || {
            format!("{what} is refused by a result, not by a JSON-RPC error")
        });
    };
    if answer.get("result").is_some() {
        return Err(fail(format!("{what} has a result and an error")));
    }
    let said = error["message"].as_str().unwrap_or_default();
    ensure(!said.trim().is_empty(), || format!("{what} is refused without a message"))?;
    let code = error["code"].as_i64();
    let mut declared = bench.subject.contract.errors.iter();
    ensure(declared.any(|error| Some(i64::from(error.code)) == code), || {
        format!("{what} is refused with the code {code:?}, which is none of the contract's: {said}")
    })
}
