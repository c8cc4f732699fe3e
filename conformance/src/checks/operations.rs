//! Tools with several operations: arguments that no operation takes are refused.

use std::collections::BTreeSet;

use tabellion_runtime::{pointer, spec::Operations};

use crate::{check::each_alone, checks::prelude::*, judgement::mapped_tools, request::examples};

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "operations/unsupported",
        guarantees: &["operations-are-closed", "each-pair-as-declared"],
        states: "A combination of selectors that no operation has is refused, and nothing changes.",
        explains: "Sends every combination of the selectors' values for which the contract has no operation, with the \
                   arguments that each of the tool's operations takes. A server that falls back to the nearest operation \
                   does what the caller did not ask for.",
        cases: unsupported,
        shrink: one_request,
        ..Check::must(judge)
    },
    Check {
        id: "operations/unused-argument",
        guarantees: &["operations-are-closed", "each-pair-as-declared"],
        states: "An argument that the chosen operation does not take is refused by its name, and nothing changes.",
        explains: "Adds to a valid request of each operation every argument that the tool has and the operation does not \
                   take. A server that ignores it answers something else than what was asked for: a filter that does not \
                   filter.",
        cases: unused,
        shrink: one_request,
        ..Check::must(judge)
    },
];

/// Documents of each case's library.
const DOCUMENTS: &[(&str, &str)] = &[("page.md", "# Page\n\nText.\n")];
/// JSON-RPC's error code for invalid params.
const INVALID_PARAMS: i64 = -32602;

/// A request that no operation takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Untaken {
    what: String,
    /// The label of an operation of the same tool.
    operation: String,
    arguments: Value,
    /// Name that the refusal must contain.
    names: Option<String>,
}

fn unsupported(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    cases(bench, |tool, operations| {
        let mut requests = Vec::new();
        let supported: BTreeSet<_> =
            operations.all.iter().filter_map(|it| it.operation).map(|it| it.is).collect();
        for values in combinations(tool, operations) {
            let is: Vec<_> = values.iter().map(String::as_str).collect();
            if supported.contains(&*is) {
                continue;
            }
            for (operation, mut arguments) in valid_requests(operations) {
                for (selector, value) in selectors(operations).zip(&values) {
                    arguments.insert(selector, value.as_str().into());
                }
                requests.push(Untaken {
                    what: format!("{} with the arguments of `{}`", is.join(" "), operation.label()),
                    operation: operation.label().to_owned(),
                    arguments: arguments.into(),
                    names: None,
                });
            }
        }
        requests
    })
}

fn unused(bench: &Bench<'_>) -> Result<Vec<Case>, Stop> {
    let contract = bench.subject.contract;
    cases(bench, |tool, operations| {
        let mut requests = Vec::new();
        let wire = tool.input.wire();
        for (operation, valid) in valid_requests(operations) {
            let own = operation.input.wire();
            let members = wire["properties"].as_object().into_iter().flatten();
            for (name, schema) in members.filter(|(name, _)| own["properties"].get(name).is_none()) {
                let mut arguments = valid.clone();
                arguments.insert(name.clone(), value_of(name, schema, operations));
                let arguments = Value::Object(arguments);
                // The argument may select another operation.
                if contract.taker(tool.name, &arguments).is_none() {
                    requests.push(Untaken {
                        what: format!("`{name}` for `{}`", operation.label()),
                        operation: operation.label().to_owned(),
                        arguments,
                        names: Some(name.clone()),
                    });
                }
            }
        }
        requests
    })
}

/// Returns a case for each tool with operations that has such requests.
fn cases(
    bench: &Bench<'_>,
    of: impl Fn(&'static ToolSpec, &Operations) -> Vec<Untaken>,
) -> Result<Vec<Case>, Stop> {
    if !bench.subject.is_native() {
        return Err(mapped_tools());
    }
    let tools = bench.subject.contract.tools.iter();
    let cases = tools.filter_map(|tool| {
        let requests = of(tool, tool.operations.as_ref()?);
        (!requests.is_empty()).then(|| Case::new(tool.name.to_owned(), requests))
    });
    let cases: Vec<_> = cases.collect();
    nonempty(cases, "every request of the contract's tools has an operation")
}

fn judge(bench: &Bench<'_>, case: &Case) -> Judgement {
    let scene = Scene::in_memory(bench.subject, &bench.trace, DOCUMENTS)?;
    let mut client = scene.start()?;
    let before = scene.view()?;
    for request in case.read::<Vec<Untaken>>()? {
        let Untaken { what, operation, arguments, names } = request;
        let tool = bench.subject.contract.operation(&operation);
        let tool = tool.ok_or_else(|| not_applicable(format!("the contract has no `{operation}`")))?;
        match client.call(tool, &arguments)? {
            Reply::Done(_) => return Err(fail(format!("{what} was accepted"))),
            Reply::Refused(refusal) => {
                let (code, message) = (refusal.code, &refusal.message);
                ensure(code.is_none_or(|code| code == INVALID_PARAMS), || {
                    format!("{what} was refused, but not with {INVALID_PARAMS}: {message}")
                })?;
                let is_named = names.is_none_or(|name| message.contains(&name));
                ensure(is_named, || format!("{what} was refused without naming the argument: {message}"))?;
            }
        }
    }
    before.same(&scene.view()?, "a refused call")
}

/// Returns each request as a case of its own.
fn one_request(case: &Case) -> Vec<Case> {
    let name = |_, request: &Untaken| format!("{}: {}", case.name, request.what);
    each_alone(case, |requests: &mut Vec<Untaken>| requests, name)
}

/// Returns every combination of the selectors' values.
fn combinations(tool: &ToolSpec, operations: &Operations) -> Vec<Vec<String>> {
    let wire = tool.input.wire();
    selectors(operations).fold(vec![Vec::new()], |begun, selector| {
        let values = wire["properties"][&selector]["enum"].as_array();
        let values: Vec<_> = values.into_iter().flatten().filter_map(Value::as_str).collect();
        let longer = |begun: &Vec<String>| {
            let with = |value: &&str| begun.iter().cloned().chain([(*value).to_owned()]).collect();
            values.iter().map(with).collect::<Vec<_>>()
        };
        begun.iter().flat_map(longer).collect()
    })
}

/// Returns the names of the selectors.
fn selectors(operations: &Operations) -> impl Iterator<Item = String> {
    let last = |pointer: &&str| pointer::split_last(pointer).map(|(_, name)| name);
    operations.select.iter().filter_map(last)
}

/// Returns a valid request of each operation that has an example.
fn valid_requests(operations: &Operations) -> impl Iterator<Item = (&'static ToolSpec, Map<String, Value>)> {
    operations.all.iter().filter_map(|operation| match examples(operation).next()? {
        Value::Object(arguments) => Some((operation, arguments)),
        _ => None,
    })
}

/// Returns a value for an argument: one from an example, or one of its type.
fn value_of(name: &str, schema: &Value, operations: &Operations) -> Value {
    let mut of_examples = operations.all.iter().flat_map(examples);
    if let Some(value) = of_examples.find_map(|arguments| arguments.get(name).cloned()) {
        return value;
    }
    match schema["type"].as_str() {
        Some("integer" | "number") => 1.into(),
        Some("boolean") => true.into(),
        Some("array") => Value::Array(vec![]),
        Some("object") => Value::Object(Map::new()),
        _ => schema["enum"].get(0).cloned().unwrap_or_else(|| "x".into()),
    }
}
