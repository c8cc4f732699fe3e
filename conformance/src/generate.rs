//! Inputs of a tool, made from its schema and its examples: each is an example with one thing about it changed.
//!
//! What is changed is chosen by the schema's keywords; whether the outcome is valid is then asked of the schema itself,
//! with all its rules. So it works for any contract, and an input is never mislabelled. The same schema gives the same
//! inputs in the same order.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tabellion_runtime::{ToolSpec, pointer};

#[cfg(test)]
mod tests;

/// A name that no contract has a member or a value of.
const UNKNOWN: &str = "conformance-unknown";
/// The largest integer that every JSON library keeps.
const MAX_SAFE_INTEGER: i64 = (1 << 53) - 1;
/// The longest text that is generated to reach a limit.
const MAX_TEXT_LENGTH: u64 = 100_000;

/// Arguments of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Input {
    /// What is the matter with them, for people.
    pub what: String,
    /// The arguments.
    pub arguments: Value,
}

/// Inputs of a tool, by the judgement that its contract has of them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Inputs {
    /// Those that satisfy the schema and all rules.
    pub valid: Vec<Input>,
    /// Those that don't.
    pub invalid: Vec<Input>,
}

impl Inputs {
    /// The inputs of `tool`.
    ///
    /// # Panics
    /// When the contract's schema or an example is not JSON, which generated code never is.
    pub fn of(tool: &ToolSpec) -> Self {
        let schema: Value = serde_json::from_str(tool.input.enforced).expect("generated schemas are JSON");
        let examples = tool.examples.iter().map(|example| Input {
            what: example.name.to_owned(),
            arguments: serde_json::from_str(example.json).expect("examples are JSON"),
        });
        let is_valid = |arguments: &Value| tool.input.check(arguments).is_ok();
        let mut inputs = Self::default();
        for input in inputs_of(&schema, &examples.collect::<Vec<_>>(), tool.path, is_valid) {
            if is_valid(&input.arguments) {
                inputs.valid.push(input);
            } else {
                inputs.invalid.push(input);
            }
        }
        inputs
    }
}

/// The examples, and all that is made from the valid ones. At `path`, texts are only those of examples: what else may
/// stand there is not for a schema to say.
fn inputs_of(
    schema: &Value,
    examples: &[Input],
    path: Option<&str>,
    is_valid: impl Fn(&Value) -> bool,
) -> Vec<Input> {
    let mut maker = Maker {
        examples,
        path,
        made: Vec::new(),
        seen: HashSet::new(),
        tried: HashSet::new(),
    };
    for example in examples {
        maker.add(&example.what, example.arguments.clone());
    }
    for example in examples.iter().filter(|example| is_valid(&example.arguments)) {
        maker.vary(&example.arguments, "", schema);
    }
    maker.made
}

struct Maker<'a> {
    examples: &'a [Input],
    path: Option<&'a str>,
    made: Vec<Input>,
    /// What is there already, as text.
    seen: HashSet<String>,
    /// Places, and what has stood there in place of what an example has.
    tried: HashSet<String>,
}

impl Maker<'_> {
    fn add(&mut self, what: &str, arguments: Value) {
        if self.seen.insert(arguments.to_string()) {
            self.made.push(Input {
                what: what.to_owned(),
                arguments,
            });
        }
    }

    /// All changes of what stands at `at` in `base`, whose schema is `schema`.
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
        // Other members may depend on which of these stands here, so they are tried in every example.
        for value in choices(schema) {
            self.add(&said(at, &value), with(base, at, value));
        }
        let mut values = wrong(schema);
        values.extend(at_limits(schema));
        values.extend(
            self.examples
                .iter()
                .filter_map(|it| it.arguments.pointer(at).cloned()),
        );
        if is_of(schema, "string") && self.path != Some(at) {
            values.extend(["", " ", "é \u{1f600}\u{200b}", "a\r\nb\tc", "%s $1 \\ \" ` '"].map(Value::from));
            values.push("x".repeat(10_000).into());
        }
        for value in values {
            if self.tried.insert(format!("{at} {value}")) {
                self.add(&said(at, &value), with(base, at, value));
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
            let shown = self
                .examples
                .iter()
                .find_map(|it| it.arguments.pointer(&at).cloned());
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

/// Values of every type, those that look almost right included.
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

/// What `enum` and `const` have to choose from, and what is close to it.
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

/// Numbers and texts at, above and below the limits that a schema has.
fn at_limits(schema: &Value) -> Vec<Value> {
    let mut values = Vec::new();
    if is_of(schema, "integer") || is_of(schema, "number") {
        values.extend([-1, 0, 1, MAX_SAFE_INTEGER].map(Value::from));
        let limits = [
            "minimum",
            "maximum",
            "exclusiveMinimum",
            "exclusiveMaximum",
            "multipleOf",
        ];
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

/// Something that `schema` may be satisfied by.
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

/// What `keyword` says in `schema`, and in what must hold besides.
fn clauses<'a>(schema: &'a Value, keyword: &'static str) -> impl Iterator<Item = &'a Value> {
    let besides = schema["allOf"].as_array().map(Vec::as_slice).unwrap_or_default();
    [schema]
        .into_iter()
        .chain(besides)
        .filter_map(move |clause| clause.get(keyword))
}

fn is_of(schema: &Value, name: &str) -> bool {
    clauses(schema, "type")
        .any(|said| said == name || said.as_array().is_some_and(|all| all.contains(&json!(name))))
}

fn members(schema: &Value) -> Vec<(String, Value)> {
    let members = schema["properties"].as_object().into_iter().flatten();
    members
        .map(|(name, member)| (name.clone(), member.clone()))
        .collect()
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

fn said(at: &str, value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() > 60 {
        let start: String = text.chars().take(40).collect();
        return format!("`{at}` is {start}… ({} bytes)", text.len());
    }
    format!("`{at}` is {text}")
}
