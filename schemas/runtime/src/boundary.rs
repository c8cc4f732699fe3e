//! The boundary between JSON and a tool's typed method: arguments on the way in, responses and errors on the way out.

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{
    answer::Rejection,
    failure::{ContractError, ErrorAnswer, Failure},
    pointer,
    schema::Violation,
    spec::ToolSpec,
};

/// Validates the arguments, checks their path against the policy, and decodes them.
pub(crate) fn decode<Request: DeserializeOwned, Error: ContractError>(
    tool: &'static ToolSpec,
    mut arguments: Value,
) -> Result<Request, Rejection> {
    if let Err(violations) = tool.input.check(&arguments) {
        let violations = name_unused(tool, &arguments, violations);
        return Err(failed::<Error>(tool, Failure::violations(&violations)));
    }
    if let (Some(policy), Some(path)) = (tool.paths, tool.path_of(&arguments)) {
        policy.judge(&path).map_err(|failure| failed::<Error>(tool, failure))?;
    }
    fold_integral(&mut arguments);
    if let (Some(operation), Some(members)) = (tool.operation, arguments.as_object_mut()) {
        // They chose the operation, whose type lacks them.
        for selector in operation.select.iter().flat_map(|selector| pointer::tokens(selector)) {
            members.shift_remove(&selector);
        }
    }
    Request::deserialize(arguments)
        .map_err(|error| Rejection::breach(tool.label(), format!("valid arguments do not decode: {error}")))
}

/// Returns the operation of a tool that `arguments` choose.
///
/// # Errors
/// If the tool has no operation for them.
pub(crate) fn choose<Error: ContractError>(
    tool: &'static ToolSpec,
    arguments: &Value,
) -> Result<&'static ToolSpec, Rejection> {
    let members = arguments.as_object();
    if let Some(operation) = members.and_then(|members| tool.operation_of(members)) {
        return Ok(operation);
    }
    let violations = tool.input.check(arguments).err().unwrap_or_default();
    let selectors = tool.operations.iter().flat_map(|operations| operations.select);
    let is_of_selector = |violation: &Violation| {
        // A missing member is a violation of the whole.
        violation.pointer.is_empty() || selectors.clone().any(|selector| violation.pointer == *selector)
    };
    let mut violations: Vec<_> = violations.into_iter().filter(is_of_selector).collect();
    if let (Some(operations), true) = (&tool.operations, violations.is_empty()) {
        let values = members.and_then(|members| operations.values(members));
        let values = values.unwrap_or_default();
        violations.push(Violation {
            rule: "unsupported".into(),
            pointer: selectors.clone().next().copied().unwrap_or_default().into(),
            message: operations.refusal(&values),
        });
    }
    Err(failed::<Error>(tool, Failure::violations(&violations)))
}

/// Adds the permitted members to violations about unused ones; the schema itself reports only that there are too many.
fn name_unused(tool: &ToolSpec, arguments: &Value, violations: Vec<Violation>) -> Vec<Violation> {
    let (Some(operation), Some(members)) = (tool.operation, arguments.as_object()) else {
        return violations;
    };
    let wire = tool.input.wire();
    let Some(taken) = wire["properties"].as_object() else {
        return violations;
    };
    let takes: Vec<_> = taken.keys().map(String::as_str).collect();
    let mut violations = violations;
    name_members(&wire, &operation.words(), &mut violations);
    let unused = members.keys().filter(|name| !taken.contains_key(*name)).take(MAX_UNUSED);
    let mut named: Vec<_> = unused
        .map(|name| Violation {
            rule: "unused_argument".into(),
            pointer: pointer::push("", name),
            message: format!("does not apply to `{}`, which takes {}", operation.words(), takes.join(", ")),
        })
        .collect();
    let is_named = |violation: &Violation| {
        violation.rule == "additionalProperties" && violation.pointer.matches('/').count() <= 1
    };
    named.extend(violations.into_iter().filter(|violation| !is_named(violation)));
    named
}

/// Adds the permitted members to violations about objects in the arguments with missing or unknown members.
fn name_members(wire: &Value, words: &str, violations: &mut [Violation]) {
    let mut said: Vec<String> = vec![];
    for violation in violations {
        let is_unknown = violation.rule == "additionalProperties";
        let place = &*violation.pointer;
        let within = match &*violation.rule {
            // The object itself is missing, or a rule names it.
            _ if place.is_empty() => {
                let names = violation.message.split('`').skip(1).step_by(2);
                let mut objects = names.map(|name| pointer::push("", name));
                objects.find(|object| members(wire, object).is_some()).unwrap_or_default()
            }
            "required" | "minProperties" => place.to_owned(),
            // A single unknown member is reported at its own place, several at that of their object.
            "additionalProperties" if members(wire, place).is_none() => {
                let parent = pointer::split_last(place).map(|(parent, _)| parent);
                parent.unwrap_or_default().to_owned()
            }
            "additionalProperties" => place.to_owned(),
            _ => continue,
        };
        let Some(takes) = members(wire, &within).filter(|_| !within.is_empty()) else {
            continue;
        };
        if is_unknown {
            violation.rule = "unknown_field".into();
        }
        if !said.contains(&within) {
            let member = within.trim_start_matches('/');
            violation.message += &format!("; `{words}` takes {}", takes.join(", "));
            if violation.pointer.is_empty() {
                violation.message += &format!(" in `{member}`");
            }
            said.push(within);
        }
    }
}

/// Returns the names of the members that the object at a place can set, if the schema lists them.
fn members<'w>(wire: &'w Value, place: &str) -> Option<Vec<&'w str>> {
    let mut schema = wire;
    for token in pointer::tokens(place) {
        schema = match schema.get("items") {
            Some(items) if token.parse::<usize>().is_ok() => items,
            _ => schema.get("properties")?.get(&*token)?,
        };
    }
    let members = schema.get("properties")?.as_object()?;
    let can_be_set = members.iter().filter(|(_, schema)| schema["readOnly"] != true);
    Some(can_be_set.map(|(name, _)| &**name).collect())
}

/// Maximum number of unused members in a message.
const MAX_UNUSED: usize = 8;

/// Encodes a response and validates it.
pub(crate) fn encode(tool: &'static ToolSpec, response: impl Serialize) -> Result<Value, Rejection> {
    let value = serde_json::to_value(response).map_err(|error| Rejection::breach(tool.label(), error))?;
    match tool.output.check(&value) {
        Ok(()) => Ok(value),
        Err(violations) => Err(Rejection::breach(tool.label(), Failure::violations(&violations))),
    }
}

/// Returns the rejection for a failure of the runtime or the store.
pub(crate) fn failed<Error: ContractError>(tool: &'static ToolSpec, failure: Failure) -> Rejection {
    declared(tool, Error::from(failure).answer())
}

/// Returns the rejection for an error that a method answered with. One that the tool does not declare is a breach.
pub(crate) fn declared(tool: &'static ToolSpec, mut error: ErrorAnswer) -> Rejection {
    if tool.errors.contains(&error.name) {
        if let Some(takes) = taken_beside_missing(tool, &error) {
            error.message += &takes;
        }
        return Rejection::Declared(error);
    }
    let detail = format!("undeclared error {}: {}", error.name, error.message);
    Rejection::breach(tool.label(), detail)
}

/// Returns the end of a message about members that a method missed: all that their object takes.
fn taken_beside_missing(tool: &ToolSpec, error: &ErrorAnswer) -> Option<String> {
    let operation =
        tool.operation.filter(|_| error.data.get("rule").is_some_and(|rule| rule == "missing"))?;
    let (object, _) = pointer::split_last(error.data.get("pointer")?.as_str()?)?;
    let wire = tool.input.wire();
    let takes = members(&wire, object).filter(|_| !object.is_empty())?;
    Some(format!(
        "; `{}` takes {} in `{}`",
        operation.words(),
        takes.join(", "),
        object.trim_start_matches('/')
    ))
}

/// Makes integral floats integers: JSON Schema calls 10.0 an integer, serde does not.
fn fold_integral(value: &mut Value) {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::Number(number) if number.is_f64() => {
            if let Some(float) = number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() < EXACT) {
                *value = (float as i64).into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(fold_integral),
        Value::Object(members) => members.values_mut().for_each(fold_integral),
        _ => {}
    }
}
