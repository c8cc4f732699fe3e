//! Checks of arguments generated from the schema of each tool.

use tabellion_runtime::{ContractSpec, auth::REASON, spec::TextRule};

use super::library::DOCUMENTS;
use crate::{
    callers,
    check::each_alone,
    checks::prelude::*,
    generate::{Input, Inputs},
    judgement::mapped_tools,
    request::examples,
};

pub(super) const VALID: Check = Check {
    id: "schema/valid-accepted",
    guarantees: &[],
    states: "Arguments that are valid by the contract are not refused as invalid.",
    explains: "Generates valid arguments from each tool's schema and examples: with and without optional members, \
               every value of an enumeration, values at limits, texts of all kinds. A call may fail because of the \
               library's content, but not with -32602 (invalid params), unless the error's data name a rule about the rows \
               that are there, or say that the server checks no tokens, or the contract's error body gives a `reason`.",
    cases: |bench| cases(bench, |inputs| inputs.valid),
    shrink,
    ..Check::must(judge_valid)
};

pub(super) const INVALID: Check = Check {
    id: "schema/invalid-refused",
    guarantees: &[
        "each-pair-as-declared",
        "errors-write-nothing",
        "refusals-write-nothing",
        "errors-change-nothing",
    ],
    states: "Arguments that break the contract's schema or one of its rules are refused, and nothing \
            changes.",
    explains: "Generates arguments with one defect from each tool's schema and examples: a member is missing, unknown, \
               of a wrong type at any depth, out of range, or breaks a rule of the contract. Adds the contract's \
               invalid examples. Each call must be refused; the library, its index and history, and the files outside \
               it must be unchanged.",
    cases: |bench| cases(bench, |inputs| inputs.invalid),
    shrink,
    ..Check::must(judge_invalid)
};

/// Maximum number of inputs per session.
const INPUTS_PER_SESSION: usize = 40;
/// JSON-RPC's error code for invalid params.
const INVALID_PARAMS: i64 = -32602;

/// Rules, in the data of an error with that code, that valid arguments can break where a contract keeps rows: because of the rows that
/// are there, because they contradict each other, because of the files in the workspace, or since the server checks no tokens.
const OF_ROWS: &[&str] =
    &["not_found", "no_such", "taken", "immutable", "conflicting", "path", "no_collection", "token"];
/// Rules of entities that schemas can't express: a time that must lie ahead, a field that is needed in one of two places. The family
/// `rows` judges them by its model.
const OF_ENTITIES: &[&str] = &["missing", "value"];

/// Inputs of one tool.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct InputBatch {
    tool: String,
    inputs: Vec<Input>,
}

fn cases(bench: &Bench<'_>, of: fn(Inputs) -> Vec<Input>) -> Result<Vec<Case>, Stop> {
    if !bench.subject.has_own_schemas() {
        return Err(mapped_tools());
    }
    let mut cases = Vec::new();
    for tool in bench.subject.operations() {
        let inputs = of(Inputs::generate(bench.subject.contract, tool));
        for (number, inputs) in inputs.chunks(INPUTS_PER_SESSION).enumerate() {
            let name = format!("inputs of {} from number {}", tool.label(), number * INPUTS_PER_SESSION + 1);
            let (tool, inputs) = (tool.label().to_owned(), inputs.to_vec());
            cases.push(Case::new(name, InputBatch { tool, inputs }));
        }
    }
    Ok(cases)
}

fn judge_valid(bench: &Bench<'_>, case: &Case) -> Judgement {
    let batch: InputBatch = case.read()?;
    let tool = bench.tool(&batch.tool)?;
    let scene = library(bench, tool)?;
    let mut client = scene.start()?;
    for input in batch.inputs {
        let contract = bench.subject.contract;
        if is_beyond(tool, &input.arguments)
            || refers(contract, tool, &input.arguments)
            || is_too_large(contract, &input.arguments)
        {
            continue;
        }
        let message = client.call_raw(tool, &input.arguments, Map::new())?;
        let details = callers::details(contract, &message);
        let rule = details.get("rule").and_then(Value::as_str);
        // An error body with a reason refuses arguments because of the store's state, not because of their form.
        if rule.is_some_and(|rule| is_of_rows(contract, tool, rule))
            || contract.error_body.is_some() && details.contains_key(REASON)
        {
            continue;
        }
        if let Reply::Refused(refusal) = bench.subject.adapter.reply(tool, &message) {
            ensure(refusal.code != Some(INVALID_PARAMS), || {
                format!("valid arguments ({}) were refused as invalid: {}", input.what, refusal.message)
            })?;
        }
    }
    Ok(())
}

fn judge_invalid(bench: &Bench<'_>, case: &Case) -> Judgement {
    let batch: InputBatch = case.read()?;
    let tool = bench.tool(&batch.tool)?;
    let scene = library(bench, tool)?;
    let mut client = scene.start()?;
    let before = scene.view()?;
    for input in batch.inputs {
        let what = &input.what;
        match client.call(tool, &input.arguments)? {
            Reply::Done(_) => {
                return Err(fail(format!("invalid arguments ({what}) were accepted by {}", tool.label())));
            }
            Reply::Refused(refusal) => {
                ensure(refusal.code.is_none_or(|code| code == INVALID_PARAMS), || {
                    format!(
                        "invalid arguments ({what}) were refused, but not with -32602: {}",
                        refusal.message
                    )
                })?
            }
        }
    }
    before.same(&scene.view()?, "a refused call with invalid arguments")
}

/// Returns true if it is not the arguments alone that break the rule.
fn is_of_rows(contract: &ContractSpec, operation: &ToolSpec, rule: &str) -> bool {
    contract.rows.is_some() && OF_ROWS.contains(&rule)
        || operation.rows.is_some() && OF_ENTITIES.contains(&rule)
}

/// Returns true if the arguments name a position beyond the sections of [`DOCUMENTS`].
fn is_beyond(tool: &ToolSpec, arguments: &Value) -> bool {
    let sections = DOCUMENTS[0].1.lines().filter(|line| line.starts_with('#')).count();
    let at = tool.effect(arguments).and_then(|effect| effect.position);
    let position = at.and_then(|at| arguments.pointer(at)?.as_u64());
    position.is_some_and(|position| position > sections as u64)
}

/// Returns true if the arguments refer to a row, which may not be there.
fn refers(contract: &ContractSpec, tool: &ToolSpec, arguments: &Value) -> bool {
    let Some((rows, operation)) = contract.rows.zip(tool.rows) else {
        return false;
    };
    let is_given = |name: &str| {
        let data = operation.data.map_or(arguments, |member| &arguments[member]);
        let mut members = operation.arguments.iter();
        let member = members.find(|(_, field)| *field == name).map(|(member, _)| *member);
        let beside = member.and_then(|member| arguments.get(member));
        beside.or(data.get(name)).is_some_and(|value| !value.is_null())
    };
    let entity = rows.entity(operation.entity);
    let mut references = entity.into_iter().flat_map(|entity| entity.references());
    references.any(|(field, _)| is_given(field.name))
}

/// Returns true if a text has more bytes than the field of its name can have, a limit that schemas can't express.
fn is_too_large(contract: &ContractSpec, value: &Value) -> bool {
    let fields = contract.rows.into_iter().flat_map(|rows| rows.entities);
    let fields: Vec<_> = fields.flat_map(|entity| entity.fields).collect();
    let is_beyond = |name: &str, text: &str| {
        let rules = fields.iter().filter(|field| field.name == name).flat_map(|field| field.text);
        let mut limits = rules.filter_map(|rule| match rule {
            TextRule::MaxBytes(max) => Some(*max),
            _ => None,
        });
        limits.any(|max| text.len() > max)
    };
    let mut members = value.as_object().into_iter().flatten();
    members.any(|(name, value)| match value {
        Value::String(text) => is_beyond(name, text),
        value => is_too_large(contract, value),
    })
}

/// Creates a library with the documents that the tool's examples name.
fn library<'a>(bench: &Bench<'a>, tool: &'static ToolSpec) -> Result<Scene<'a>, Stop> {
    let scene = Scene::in_memory(bench.subject, &bench.trace, DOCUMENTS)?;
    let text = DOCUMENTS[0].1;
    for example in examples(tool) {
        let path = tool.path.and_then(|at| example.pointer(at)?.as_str().map(String::from));
        // Paths without the extension may be folders.
        let document = path.filter(|path| path.ends_with(".md"));
        document.map(|path| scene.put(&path, text)).transpose()?;
    }
    scene.commit_all("documents of the examples")?;
    Ok(scene)
}

/// Returns each input as a case of its own.
fn shrink(case: &Case) -> Vec<Case> {
    let tool = case.data["tool"].as_str().unwrap_or_default();
    let name = |_, input: &Input| format!("{tool}: {}", input.what);
    each_alone(case, |batch: &mut InputBatch| &mut batch.inputs, name)
}
