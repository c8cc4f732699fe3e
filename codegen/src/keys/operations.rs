//! `select` and `refused` of a tool, and the files of its operations: a tool that stands for many, each with its own request, response,
//! errors and method.

use std::collections::BTreeSet;

use quote::quote;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tabellion_runtime::{
    pointer::tokens,
    spec::{self, Annotations, Operation},
};

use super::{EmittedTool, Key, ToolSpec};
use crate::{
    algebra,
    contract::{Contract, Side, Tool},
    document::Document,
    leak::{leaked, texts},
    pointer,
    problem::Problem,
    views,
};

/// The content of an operation file.
#[derive(Debug, Clone, Deserialize)]
pub struct OperationSpec {
    pub description: Option<&'static str>,
    pub is: Vec<&'static str>,
    #[serde(default)]
    pub has: Vec<&'static str>,
    pub roles: Option<Vec<&'static str>>,
    pub gates: Option<Vec<&'static str>>,
    pub request: Value,
    pub response: Value,
    #[serde(flatten)]
    pub rest: ToolSpec,
}

impl OperationSpec {
    /// Returns the operation `name` of `tool`.
    pub(crate) fn into_tool(self, name: &str, document: Document, tool: &ToolSpec) -> Tool {
        let operation = Operation {
            label: leaked(&format!("{}/{name}", tool.name)),
            select: texts(&tool.select),
            is: texts(&self.is),
            has: texts(&self.has),
        };
        let spec = ToolSpec {
            name: tool.name,
            description: self.description.unwrap_or(tool.description),
            annotations: Annotations { read_only: !self.rest.mutating, ..tool.annotations },
            roles: self.roles.unwrap_or_else(|| tool.roles.clone()),
            gates: self.gates.unwrap_or_else(|| tool.gates.clone()),
            input_schema: narrowed(&tool.input_schema, &operation, &self.request),
            output_schema: self.response,
            ..self.rest
        };
        Tool { document, spec, operation: Some(operation), parts: vec![], rows: None }
    }
}

/// Adds to a tool the union of its operations.
pub(crate) fn unite(tool: &mut Tool) {
    tool.spec.mutating = tool.parts.iter().any(|part| part.spec.mutating);
    let errors: BTreeSet<_> = tool.parts.iter().flat_map(|part| &part.spec.errors).collect();
    tool.spec.errors = errors.into_iter().cloned().collect();
    tool.spec.output_schema = united(&tool.parts);
}

/// Returns the requests of an operation: the selectors with its values, and the members that `request` takes.
fn narrowed(wire: &Value, operation: &Operation, request: &Value) -> Value {
    let property = |name: &str| wire["properties"].get(name).and_then(Value::as_object);
    let mut properties = Map::new();
    // The members of the file come first, where problems point at them.
    let mut required = request["required"].as_array().cloned().unwrap_or_default();
    for (name, is) in names(operation.select).zip(operation.is) {
        let mut selector = property(&name).cloned().unwrap_or_default();
        selector.retain(|key, _| matches!(key.as_str(), "type" | "description" | "title"));
        selector.insert("const".into(), (*is).into());
        properties.insert(name.clone(), selector.into());
        required.push(name.into());
    }
    for (name, narrower) in request["properties"].as_object().into_iter().flatten() {
        let mut whole = property(name).cloned().unwrap_or_default();
        match narrower {
            Value::Object(narrower) => whole.extend(narrower.clone()),
            other => {
                properties.insert(name.clone(), other.clone());
                continue;
            }
        }
        properties.insert(name.clone(), whole.into());
    }
    let mut schema = Map::new();
    schema.insert("type".into(), "object".into());
    schema.insert("required".into(), required.into());
    schema.insert("properties".into(), properties.into());
    schema.insert("additionalProperties".into(), false.into());
    for (key, value) in request.as_object().into_iter().flatten() {
        schema.entry(key.as_str()).or_insert_with(|| value.clone());
    }
    schema.into()
}

/// Returns a schema with the members of all operations' responses, none of them required.
///
/// Each response is checked against its operation's own schema. Every client reads this one with `tools/list`, so it has the kind of each
/// member's value, but neither sizes nor patterns.
fn united(parts: &[Tool]) -> Value {
    let mut members: Map<String, Value> = Map::new();
    for part in parts {
        let response = views::wire(part.schema(Side::Output));
        for (name, schema) in response["properties"].as_object().into_iter().flatten() {
            let kind = kind(schema);
            match members.get_mut(name) {
                Some(others) => *others = joined(others.take(), kind),
                None => drop(members.insert(name.clone(), kind)),
            }
        }
    }
    json!({ "type": "object", "properties": members })
}

/// Returns a schema that accepts all values of `schema`, without its limits.
fn kind(schema: &Value) -> Value {
    let Value::Object(schema) = schema else {
        return json!({});
    };
    let mut kind = Map::new();
    for (key, value) in schema {
        match key.as_str() {
            "type" | "enum" | "format" | "description" | "anyOf" | "oneOf" | "allOf" => {
                kind.insert(key.clone(), value.clone());
            }
            "const" => drop(kind.insert("enum".into(), json!([value]))),
            "items" => drop(kind.insert(key.clone(), self::kind(value))),
            "properties" => {
                let properties = value.as_object().into_iter().flatten();
                let properties = properties.map(|(name, schema)| (name.clone(), self::kind(schema)));
                kind.insert(key.clone(), Value::Object(properties.collect()));
            }
            _ => {}
        }
    }
    kind.into()
}

/// Returns a schema that accepts all values of either.
fn joined(one: Value, other: Value) -> Value {
    let (Value::Object(one), Value::Object(mut other)) = (one, other) else {
        return json!({});
    };
    let join = |(key, one): (String, Value)| {
        let other = other.remove(&key)?;
        let value = match key.as_str() {
            "type" => match <[Value; 1]>::try_from(either(one, other)) {
                Ok([word]) => word,
                Err(several) => several.into(),
            },
            "enum" => either(one, other).into(),
            "items" => joined(one, other),
            _ if one == other => one,
            _ => return None,
        };
        Some((key, value))
    };
    Value::Object(one.into_iter().filter_map(join).collect())
}

/// Returns the words of both, each of which is a word or a list.
fn either(one: Value, other: Value) -> Vec<Value> {
    let words = |value| match value {
        Value::Array(words) => words,
        word => vec![word],
    };
    let mut all = words(one);
    for word in words(other) {
        if !all.contains(&word) {
            all.push(word);
        }
    }
    all
}

/// Returns the names of members of a request, from JSON pointers of one step.
fn names(pointers: &[&'static str]) -> impl Iterator<Item = String> {
    pointers.iter().filter_map(|pointer| tokens(pointer).next())
}

pub(super) struct Operations;

impl Key for Operations {
    /// Checks that the tool's schema accepts all requests of the operation.
    fn lint_with_schemas(&self, contract: &Contract, problems: &mut Vec<Problem>) {
        for tool in &contract.tools {
            for part in &tool.parts {
                if let Some(problem) = lets_in(tool, part) {
                    problems.push(problem);
                }
            }
        }
    }

    fn emit_tool(&self, tool: &Tool) -> EmittedTool {
        // The others are in the entry's constructor.
        let Some(Operation { label, select, is, has }) = tool.operation.filter(|it| !it.has.is_empty())
        else {
            return EmittedTool::default();
        };
        EmittedTool::fields(quote! {
            operation: Some(spec::Operation::new(#label, &[#(#select),*], &[#(#is),*]).having(&[#(#has),*])),
        })
    }

    fn fill_tool(&self, tool: &Tool, entry: &mut spec::ToolSpec) {
        entry.operation = tool.operation;
    }
}

/// Checks the operations' selections of requests. Runs first, because all other lints of operations depend on them.
pub(crate) fn lint_selectors(contract: &Contract, problems: &mut Vec<Problem>) {
    for tool in contract.tools.iter().filter(|tool| !tool.spec.select.is_empty()) {
        let Some(values) = values(tool, problems) else {
            continue;
        };
        if tool.parts.is_empty() {
            problems.push(tool.document.problem(
                "/select",
                "the tool has no operation",
                format!("add `operations/{}/<name>.json` for each", tool.spec.name),
            ));
        }
        for part in &tool.parts {
            self::part(tool, part, &values, problems);
        }
        told_apart(tool, problems);
        refused(tool, &values, problems);
    }
}

/// Returns the values of each selector.
fn values<'a>(tool: &'a Tool, problems: &mut Vec<Problem>) -> Option<Vec<Vec<&'a str>>> {
    let input = tool.schema(Side::Input);
    let required = input["required"].as_array();
    let mut found = vec![];
    for (i, pointer) in tool.spec.select.iter().enumerate() {
        let name = tokens(pointer).next().unwrap_or_default();
        let values = input["properties"][&name]["enum"].as_array();
        let values: Vec<_> = values.into_iter().flatten().filter_map(Value::as_str).collect();
        let is_required = required.is_some_and(|names| names.iter().any(|it| *it == name));
        let message = if values.is_empty() {
            format!("`{pointer}` is no enum of strings")
        } else if !is_required {
            format!("a request can lack `{pointer}`")
        } else {
            found.push(values);
            continue;
        };
        let help = "operations are chosen by required properties that are enums";
        problems.push(tool.document.problem(format!("/select/{i}"), message, help));
    }
    (found.len() == tool.spec.select.len()).then_some(found)
}

/// Checks one operation against its tool.
fn part(tool: &Tool, part: &Tool, values: &[Vec<&str>], problems: &mut Vec<Problem>) {
    let (document, Some(operation)) = (&part.document, &part.operation) else {
        return;
    };
    if operation.is.len() != values.len() {
        problems.push(document.problem(
            "/is",
            format!("operations are chosen by {}", operation.select.join(" and ")),
            "write one value for each, in this order",
        ));
    }
    for (i, (is, values)) in operation.is.iter().zip(values).enumerate() {
        if !values.contains(is) {
            problems.push(document.problem(
                format!("/is/{i}"),
                format!("`{}` is never `{is}`", operation.select[i]),
                format!("it is one of {}", values.join(", ")),
            ));
        }
    }
    let request = &document.value["request"];
    let selectors: Vec<_> = names(operation.select).collect();
    for name in request["properties"].as_object().into_iter().flatten().map(|(name, _)| name) {
        let at = pointer::walk("/request/properties", std::slice::from_ref(name));
        if selectors.contains(name) {
            let help = "remove it: `is` says its value";
            problems.push(document.problem(at, format!("`{name}` is a selector"), help));
        } else if tool.schema(Side::Input)["properties"].get(name).is_none() {
            let help =
                "an operation takes members of the tool's request; correct its spelling, or add it there";
            let message = format!("the tool's request has no `{name}`");
            problems.push(document.problem(at, message, help));
        }
    }
    let required = request["required"].as_array();
    for (i, name) in names(operation.has).enumerate() {
        if !required.is_some_and(|names| names.iter().any(|it| *it == name)) {
            problems.push(document.problem(
                format!("/has/{i}"),
                format!("a request can lack `{name}`"),
                "add it to the request's `required`",
            ));
        }
    }
}

/// Checks that of two operations with the same values, one has all members of the other, and more.
fn told_apart(tool: &Tool, problems: &mut Vec<Problem>) {
    let name = |it: Operation| it.label.rsplit('/').next().unwrap_or_default();
    for (i, part) in tool.parts.iter().enumerate() {
        for other in &tool.parts[..i] {
            let (Some(this), Some(that)) = (part.operation, other.operation) else {
                continue;
            };
            let [these, those] = [this, that].map(|it| it.has.iter().collect::<BTreeSet<_>>());
            let is_clear = these != those && (these.is_subset(&those) || those.is_subset(&these));
            if this.is == that.is && !is_clear {
                problems.push(part.document.problem(
                    "/is",
                    format!("a request can be `{}` and `{}`", name(that), name(this)),
                    "give one of them other values, or a member in `has` that the other does not take",
                ));
            }
        }
    }
}

fn refused(tool: &Tool, values: &[Vec<&str>], problems: &mut Vec<Problem>) {
    for refused in tool.spec.refused.keys() {
        let is: Vec<_> = refused.split(' ').collect();
        let is_possible = is.len() == values.len()
            && is.iter().zip(values).all(|(is, values)| values.iter().any(|value| value == is));
        let has = |part: &&Tool| part.operation.as_ref().is_some_and(|operation| operation.is == is);
        let (message, help) = if !is_possible {
            ("are no values of the selectors".into(), "write one value for each, separated by a blank")
        } else if let Some(part) = tool.parts.iter().find(has) {
            (format!("are the values of operation `{}`", part.label()), "remove one of the two")
        } else {
            continue;
        };
        let at = pointer::push("/refused", refused);
        problems.push(tool.document.problem(at, format!("`{refused}` {message}"), help));
    }
}

/// Returns the problem of an operation whose requests the tool's schema rejects.
fn lets_in(tool: &Tool, part: &Tool) -> Option<Problem> {
    let [wire, narrow] = [tool, part].map(|tool| views::enforced(tool.schema(Side::Input)));
    let member = |name: &str| Some(covers(wire["properties"].get(name)?, &narrow["properties"][name]));
    let members = narrow["properties"].as_object().into_iter().flatten();
    let members: Vec<_> = members.map(|(name, _)| (name, member(name).flatten())).collect();
    let is_by_member =
        has_only_members(&wire, &narrow) && members.iter().all(|(_, covered)| *covered == Some(true));
    if is_by_member || algebra::covers(&wire, &narrow) == Some(true) {
        return None;
    }
    let wider = members.into_iter().find_map(|(name, covered)| (covered == Some(false)).then_some(name));
    let (at, message) = match wider {
        Some(name) => (
            pointer::push("/request/properties", name),
            format!("`{name}` takes values that the tool's request refuses"),
        ),
        None => ("/request".into(), "it can't be proved that the tool's request takes all of these".into()),
    };
    Some(part.document.problem(at, message, "only narrow what the tool's `inputSchema` says"))
}

/// Returns true if `wire` accepts all values of `narrow`. It does if its keywords are among those of `narrow`, which can be checked even if
/// sets of values can't be compared.
fn covers(wire: &Value, narrow: &Value) -> Option<bool> {
    let depends_on_others = |key: &str| matches!(key, "additionalProperties" | "properties" | "required");
    let keywords = wire.as_object()?;
    let is_among =
        |(key, value): (&String, &Value)| !depends_on_others(key) && narrow.get(key) == Some(value);
    if keywords.iter().all(is_among) {
        return Some(true);
    }
    algebra::covers(wire, narrow)
}

/// Returns true if `wire` accepts each object of `narrow` whose members it accepts.
fn has_only_members(wire: &Value, narrow: &Value) -> bool {
    let required = |schema: &Value| schema["required"].as_array().cloned().unwrap_or_default();
    let needed = required(narrow);
    let keywords = wire.as_object().into_iter().flatten();
    required(wire).iter().all(|name| needed.contains(name))
        && keywords
            .map(|(key, _)| key.as_str())
            .all(|key| matches!(key, "type" | "properties" | "required" | "additionalProperties"))
}
