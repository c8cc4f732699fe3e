//! Generates inputs of a tool from its schema and examples: each input is an example with one change.
//!
//! The schema's keywords select the changes. The schema itself, with all its rules, then decides whether an input is
//! valid, so the generator works for any contract and never mislabels an input. Equal schemas give equal inputs in the
//! same order.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tabellion_runtime::{ContractSpec, ToolSpec, pointer};

#[cfg(test)]
mod tests;

/// A name that no contract uses as a member or a value.
const UNKNOWN: &str = "conformance-unknown";
/// Largest integer that every JSON library represents exactly.
const MAX_SAFE_INTEGER: i64 = (1 << 53) - 1;
/// Length of the longest text that is generated to reach a limit, in characters.
const MAX_TEXT_LENGTH: u64 = 100_000;

/// Arguments of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Input {
    /// Description of the change, for people.
    pub what: String,
    /// The arguments.
    pub arguments: Value,
}

/// Inputs of a tool, sorted by whether its contract accepts them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Inputs {
    /// Inputs that satisfy the schema and all rules.
    pub valid: Vec<Input>,
    /// Inputs that violate the schema or a rule.
    pub invalid: Vec<Input>,
}

impl Inputs {
    /// Generates the inputs of an operation of `contract`. An input that chooses another operation is left out.
    pub fn generate(contract: &ContractSpec, tool: &ToolSpec) -> Self {
        let schema = tool.input.enforced();
        let examples = tool
            .examples
            .iter()
            .map(|example| Input { what: example.name.to_owned(), arguments: example.input.clone() });
        let is_valid = |arguments: &Value| tool.input.check(arguments).is_ok();
        let mut inputs = Self::default();
        for input in inputs_of(&schema, &examples.collect::<Vec<_>>(), tool.path, is_valid) {
            let taker = contract.taker(tool.name, &input.arguments);
            if taker.is_some_and(|taker| taker.label() != tool.label()) {
                continue;
            }
            if is_valid(&input.arguments) {
                inputs.valid.push(input);
            } else {
                inputs.invalid.push(input);
            }
        }
        inputs
    }
}

/// Returns the examples and all changes of the valid ones. At `path`, only texts from examples are used, because a schema
/// does not define the valid paths.
fn inputs_of(
    schema: &Value,
    examples: &[Input],
    path: Option<&str>,
    is_valid: impl Fn(&Value) -> bool,
) -> Vec<Input> {
    let mut generator =
        Generator { examples, path, made: Vec::new(), seen: HashSet::new(), tried: HashSet::new() };
    for example in examples {
        generator.add(&example.what, example.arguments.clone());
    }
    for example in examples.iter().filter(|example| is_valid(&example.arguments)) {
        generator.vary(&example.arguments, "", schema);
    }
    generator.made
}

struct Generator<'a> {
    examples: &'a [Input],
    path: Option<&'a str>,
    made: Vec<Input>,
    /// Inputs generated so far, as JSON.
    seen: HashSet<String>,
    /// Pointers, with the values already put there.
    tried: HashSet<String>,
}

impl Generator<'_> {
    fn add(&mut self, what: &str, arguments: Value) {
        if self.seen.insert(arguments.to_string()) {
            self.made.push(Input { what: what.to_owned(), arguments });
        }
    }

    /// Adds all changes of the value at `at` in `base`; `schema` is that value's schema.
    fn vary(&mut self, base: &Value, at: &str, schema: &Value) {
        if !at.is_empty() {
            self.replace(base, at, schema);
        }
        match base.pointer(at) {
            Some(Value::Object(_)) => self.vary_members(base, at, schema),
            Some(Value::Array(items)) => self.vary_items(base, at, schema, &items.clone()),
            _ => {}
        }
    }

    fn replace(&mut self, base: &Value, at: &str, schema: &Value) {
        // Other members may depend on the choice, so each is tried in every example.
        for value in choices(schema) {
            self.add(&describe(at, &value), with(base, at, value));
        }
        let mut values = wrong(schema);
        values.extend(at_limits(schema));
        values.extend(self.examples.iter().filter_map(|it| it.arguments.pointer(at).cloned()));
        if is_of(schema, "string") && self.path != Some(at) {
            values.extend(["", " ", "é \u{1f600}\u{200b}", "a\r\nb\tc", "%s $1 \\ \" ` '"].map(Value::from));
            values.push("x".repeat(10_000).into());
        }
        for value in values {
            if self.tried.insert(format!("{at} {value}")) {
                self.add(&describe(at, &value), with(base, at, value));
            }
        }
    }

    fn vary_members(&mut self, base: &Value, at: &str, schema: &Value) {
        for (name, member) in members(schema) {
            let at = pointer::push(at, &name);
            if base.pointer(&at).is_some() {
                self.add(&format!("without `{at}`"), without(base, &at));
                self.vary(base, &at, &member);
                continue;
            }
            let shown = self.examples.iter().find_map(|it| it.arguments.pointer(&at).cloned());
            let more = with(base, &at, shown.unwrap_or_else(|| sample(&member)));
            self.add(&format!("with `{at}`"), more.clone());
            self.vary(&more, &at, &member);
        }
        let known = members(schema).first().map(|(name, _)| name.to_uppercase());
        let unknown = [UNKNOWN, "__proto__", "constructor", ""].map(String::from);
        for name in unknown.into_iter().chain(known) {
            let at = pointer::push(at, &name);
            if self.tried.insert(at.clone()) {
                self.add(&format!("with `{at}`"), with(base, &at, json!("x")));
            }
        }
    }

    fn vary_items(&mut self, base: &Value, at: &str, schema: &Value, items: &[Value]) {
        let item = schema.get("items").cloned().unwrap_or_default();
        let one = items.first().cloned().unwrap_or_else(|| sample(&item));
        let mut lengths = vec![0, 1, 2];
        for limit in clauses(schema, "minItems").chain(clauses(schema, "maxItems")) {
            let limit = limit.as_u64().unwrap_or(0).min(1_000);
            lengths.extend([limit.saturating_sub(1), limit, limit + 1]);
        }
        for length in lengths {
            let length = usize::try_from(length).unwrap_or(0);
            let what = format!("`{at}` has {length} equal items");
            self.add(&what, with(base, at, vec![one.clone(); length].into()));
        }
        let base = with(base, at, vec![one].into());
        self.vary(&base, &format!("{at}/0"), &item);
    }
}

/// Returns values of every type, including values that look almost right.
fn wrong(schema: &Value) -> Vec<Value> {
    let mut values = vec![
        Value::Null,
        json!(true),
        json!(false),
        json!(7),
        json!(1.5),
        json!([]),
        json!({}),
        json!("conformance"),
    ];
    let right = sample(schema);
    if !right.is_string() {
        values.push(right.to_string().into());
    }
    values.push(json!([right]));
    values.push(json!({ "value": right }));
    values
}

/// Returns the values of `enum` and `const`, and similar ones.
fn choices(schema: &Value) -> Vec<Value> {
    let listed = clauses(schema, "enum").filter_map(Value::as_array).flatten();
    let mut values: Vec<_> = listed.chain(clauses(schema, "const")).cloned().collect();
    if let Some(Value::String(text)) = values.first().cloned() {
        values.extend([text.to_uppercase(), format!("{text} "), UNKNOWN.to_owned()].map(Value::from));
    }
    if is_of(schema, "boolean") {
        values.extend([json!(true), json!(false)]);
    }
    values
}

/// Returns numbers and texts at, above and below the schema's limits.
fn at_limits(schema: &Value) -> Vec<Value> {
    let mut values = Vec::new();
    if is_of(schema, "integer") || is_of(schema, "number") {
        values.extend([-1, 0, 1, MAX_SAFE_INTEGER].map(Value::from));
        let limits = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"];
        for limit in limits.into_iter().flat_map(|keyword| clauses(schema, keyword)) {
            match limit.as_i64() {
                Some(limit) => {
                    values.extend([limit.saturating_sub(1), limit, limit.saturating_add(1)].map(Value::from))
                }
                None => values.push(limit.clone()),
            }
        }
    }
    for limit in clauses(schema, "minLength").chain(clauses(schema, "maxLength")) {
        let limit = limit.as_u64().unwrap_or(0);
        for length in [limit.saturating_sub(1), limit, limit.saturating_add(1)] {
            if length <= MAX_TEXT_LENGTH {
                values.push("é".repeat(usize::try_from(length).unwrap_or(0)).into());
            }
        }
    }
    values
}

/// Returns a value that is likely to satisfy `schema`.
fn sample(schema: &Value) -> Value {
    if let Some(value) = choices(schema).into_iter().next() {
        return value;
    }
    let least = |keyword| clauses(schema, keyword).filter_map(Value::as_i64).max();
    if is_of(schema, "integer") || is_of(schema, "number") {
        return least("minimum").unwrap_or(1).max(1).into();
    }
    if is_of(schema, "array") {
        let items = usize::try_from(least("minItems").unwrap_or(0).min(100)).unwrap_or(0);
        return vec![sample(&schema["items"]); items].into();
    }
    if is_of(schema, "object") {
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        let mut object = Map::new();
        for (name, member) in members(schema) {
            if required.contains(&json!(name)) {
                object.insert(name, sample(&member));
            }
        }
        return object.into();
    }
    "conformance".into()
}

/// Returns the values of `keyword` in `schema` and in its `allOf`.
fn clauses<'a>(schema: &'a Value, keyword: &'static str) -> impl Iterator<Item = &'a Value> {
    let besides = schema["allOf"].as_array().map(Vec::as_slice).unwrap_or_default();
    [schema].into_iter().chain(besides).filter_map(move |clause| clause.get(keyword))
}

fn is_of(schema: &Value, name: &str) -> bool {
    clauses(schema, "type")
        .any(|kind| kind == name || kind.as_array().is_some_and(|all| all.contains(&json!(name))))
}

fn members(schema: &Value) -> Vec<(String, Value)> {
    let members = schema["properties"].as_object().into_iter().flatten();
    members.map(|(name, member)| (name.clone(), member.clone())).collect()
}

fn with(base: &Value, at: &str, value: Value) -> Value {
    let mut changed = base.clone();
    let (parent, name) = pointer::split_last(at).unwrap_or_default();
    match changed.pointer_mut(parent) {
        Some(Value::Object(members)) => {
            members.insert(name, value);
        }
        Some(Value::Array(_)) => {
            if let Some(place) = changed.pointer_mut(at) {
                *place = value;
            }
        }
        _ => {}
    }
    changed
}

fn without(base: &Value, at: &str) -> Value {
    let mut changed = base.clone();
    let (parent, name) = pointer::split_last(at).unwrap_or_default();
    if let Some(Value::Object(members)) = changed.pointer_mut(parent) {
        members.shift_remove(&name);
    }
    changed
}

fn describe(at: &str, value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() > 60 {
        let start: String = text.chars().take(40).collect();
        return format!("`{at}` is {start}… ({} bytes)", text.len());
    }
    format!("`{at}` is {text}")
}
