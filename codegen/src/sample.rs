//! Examples for comparisons: a value that one schema accepts and another rejects.
//!
//! Candidates come from the examples and schemas of both sides. The first that a validator confirms is used.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use tabellion_runtime::schema::compile;

use crate::{
    algebra,
    contract::{Side, Tool},
};

/// Maximum number of candidates per schema.
const MAX_CANDIDATES: usize = 400;

/// Returns a value that satisfies `inside` and not `outside`.
pub(crate) fn between(side: Side, inside: &Value, outside: &Value, tools: [&Tool; 2]) -> Option<Value> {
    let (accepts, refuses) = (compile(inside).ok()?, compile(outside).ok()?);
    let examples: Vec<&Value> = tools
        .iter()
        .flat_map(|tool| &tool.spec.examples)
        .filter_map(|example| example.instance())
        .filter_map(|(of, value)| (of == side).then_some(value))
        .collect();
    let is_between = |value: &Value| accepts.is_valid(value) && !refuses.is_valid(value);
    if let Some(example) = examples.iter().find(|value| is_between(value)) {
        return Some((*example).clone());
    }
    let mut maker = Maker::default();
    for example in examples {
        maker.learn(example);
    }
    let lost = algebra::difference(inside, outside);
    [Some(inside.clone()), lost, Some(outside.clone())]
        .iter()
        .flatten()
        .flat_map(|schema| maker.candidates(schema, None))
        .find(is_between)
}

/// Generates candidate values, reusing example values of properties with the same name.
#[derive(Default)]
struct Maker {
    known: BTreeMap<String, Vec<Value>>,
}

impl Maker {
    fn learn(&mut self, example: &Value) {
        match example {
            Value::Object(members) => {
                for (name, value) in members {
                    let known = self.known.entry(name.clone()).or_default();
                    if !known.contains(value) {
                        known.push(value.clone());
                    }
                    self.learn(value);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.learn(item)),
            _ => {}
        }
    }

    /// Returns values that may satisfy `schema`, the schema of property `name`, the likeliest first.
    fn candidates(&self, schema: &Value, name: Option<&str>) -> Vec<Value> {
        let mut made: Vec<Value> = name.and_then(|name| self.known.get(name)).cloned().unwrap_or_default();
        made.extend(schema.get("const").cloned());
        made.extend(schema["enum"].as_array().into_iter().flatten().cloned());
        made.extend(numbers(schema));
        made.extend(strings(schema));
        made.extend(self.arrays(schema));
        made.extend(self.objects(schema));
        made.extend([
            json!(true),
            json!(false),
            json!("x"),
            json!(0),
            json!(1),
            json!(-1),
            json!(0.5),
            Value::Null,
        ]);
        for keyword in ["allOf", "anyOf", "oneOf"] {
            let schemas = schema[keyword].as_array().into_iter().flatten();
            made.extend(schemas.flat_map(|schema| self.candidates(schema, name)));
        }
        made.truncate(MAX_CANDIDATES);
        made
    }

    fn arrays(&self, schema: &Value) -> Vec<Value> {
        let Some(items) = schema.get("items") else {
            return vec![];
        };
        let (item, others) = self.likely(items, None);
        let mut made = vec![json!([]), json!([item])];
        made.extend(lengths(schema, "minItems", "maxItems").map(|length| vec![item.clone(); length].into()));
        made.extend(others.into_iter().map(|other| json!([other])));
        made
    }

    /// Returns the smallest object, the fullest, and variants of both with one member changed.
    fn objects(&self, schema: &Value) -> Vec<Value> {
        let Some(properties) = schema["properties"].as_object() else {
            return vec![];
        };
        let required = schema["required"].as_array();
        let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|n| n == name));
        let parts: Vec<_> =
            properties.iter().map(|(name, property)| (name, self.likely(property, Some(name)))).collect();
        let full: Map<_, _> =
            parts.iter().map(|(name, (likely, _))| ((*name).clone(), likely.clone())).collect();
        let mut small = full.clone();
        small.retain(|name, _| is_required(name));
        let mut made: Vec<Value> = vec![small.clone().into(), full.clone().into()];
        for (name, (likely, others)) in &parts {
            for object in [&small, &full] {
                let mut without = object.clone();
                without.shift_remove(*name);
                made.push(without.into());
                for value in std::iter::once(likely).chain(others) {
                    let mut with = object.clone();
                    with.insert((*name).clone(), value.clone());
                    made.push(with.into());
                }
            }
        }
        let mut more = small;
        more.insert("another".into(), json!("x"));
        made.push(more.into());
        made
    }

    /// Returns a value of `schema`, if one is found, and other candidates.
    fn likely(&self, schema: &Value, name: Option<&str>) -> (Value, Vec<Value>) {
        let mut made = self.candidates(schema, name);
        let validator = compile(schema).ok();
        let valid = |value: &Value| validator.as_ref().is_some_and(|validator| validator.is_valid(value));
        let first = made.iter().position(valid).unwrap_or(0);
        (made.remove(first), made)
    }
}

fn numbers(schema: &Value) -> Vec<Value> {
    let mut made = vec![];
    for keyword in ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"] {
        if let Some(bound) = schema[keyword].as_i64() {
            made.extend([0, 1, -1].map(|step| json!(bound.saturating_add(step))));
        }
    }
    made
}

fn strings(schema: &Value) -> Vec<Value> {
    let mut made: Vec<Value> =
        lengths(schema, "minLength", "maxLength").map(|length| "x".repeat(length).into()).collect();
    if schema["format"] == "date-time" {
        made.push("2026-01-01T00:00:00Z".into());
    }
    made
}

/// Returns lengths around the bounds of `schema`, except very large ones.
fn lengths(schema: &Value, least: &str, most: &str) -> impl Iterator<Item = usize> {
    let bounds = [schema[least].as_u64(), schema[most].as_u64()];
    let around = bounds.into_iter().flatten().flat_map(|bound| [bound.saturating_sub(1), bound, bound + 1]);
    around.filter(|length| *length <= 1_000).map(|length| length as usize)
}
