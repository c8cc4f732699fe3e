//! Walking authored schemas: where a schema has schemas in it, and which keywords it may have.

use serde_json::{Map, Value};

/// Keywords that a schema on the wire may have. typify would ignore others, or panic on them.
pub(crate) const WIRE: &[&str] = &[
    "type",
    "title",
    "description",
    "default",
    "examples",
    "deprecated",
    "enum",
    "const",
    "format",
    "properties",
    "required",
    "additionalProperties",
    "minProperties",
    "maxProperties",
    "dependentRequired",
    "items",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minLength",
    "maxLength",
    "pattern",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
];

/// Keywords that only a rule's schema may have beside those.
pub(crate) const RULE: &[&str] = &[
    "if",
    "then",
    "else",
    "contains",
    "minContains",
    "maxContains",
    "propertyNames",
    "patternProperties",
    "dependentSchemas",
    "$comment",
];

/// Our own keys, which clients don't see.
pub(crate) const OURS: &[&str] = &["x-rust-name", "x-rust-union", "x-rust-map", "x-enforce"];

/// The steps from a schema to one in it, as tokens of a JSON pointer.
pub(crate) type Step = Vec<String>;

/// Whether a keyword holds schemas, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holds {
    Nothing,
    One,
    List,
    Named,
}

fn holds(keyword: &str) -> Holds {
    match keyword {
        "items" | "additionalProperties" | "not" | "if" | "then" | "else" | "contains" | "propertyNames" => {
            Holds::One
        }
        "allOf" | "anyOf" | "oneOf" => Holds::List,
        "properties" | "patternProperties" | "dependentSchemas" => Holds::Named,
        _ => Holds::Nothing,
    }
}

/// Whether a keyword's value is made of schemas.
pub(crate) fn holds_schemas(keyword: &str) -> bool {
    holds(keyword) != Holds::Nothing
}

/// Whether what a keyword holds describes a part of the value, and not once more the value itself.
pub(crate) fn is_part(keyword: &str) -> bool {
    matches!(keyword, "properties" | "items" | "additionalProperties")
}

/// The schemas directly in `schema`, in the order of the text.
pub(crate) fn children(schema: &Value) -> Vec<(Step, &Value)> {
    let mut children = vec![];
    for (keyword, value) in schema.as_object().into_iter().flatten() {
        match (holds(keyword), value) {
            (Holds::List, Value::Array(schemas)) => {
                let schemas = schemas.iter().enumerate();
                children.extend(schemas.map(|(i, schema)| (vec![keyword.clone(), i.to_string()], schema)));
            }
            (Holds::Named, Value::Object(schemas)) => {
                let schemas = schemas.iter();
                children.extend(schemas.map(|(name, schema)| (vec![keyword.clone(), name.clone()], schema)));
            }
            (Holds::One, _) => children.push((vec![keyword.clone()], value)),
            _ => {}
        }
    }
    children
}

/// Those of [`children`] that describe parts of the value. Only there our own keys may stand.
pub(crate) fn parts(schema: &Value) -> Vec<(Step, &Value)> {
    let mut children = children(schema);
    children.retain(|(step, _)| is_part(&step[0]));
    children
}

/// As [`children`], to be changed.
fn children_mut(schema: &mut Value) -> Vec<(Step, &mut Value)> {
    let mut children = vec![];
    for (keyword, value) in schema.as_object_mut().into_iter().flatten() {
        match (holds(keyword), value) {
            (Holds::List, Value::Array(schemas)) => {
                let schemas = schemas.iter_mut().enumerate();
                children.extend(schemas.map(|(i, schema)| (vec![keyword.clone(), i.to_string()], schema)));
            }
            (Holds::Named, Value::Object(schemas)) => {
                let schemas = schemas.iter_mut();
                children.extend(schemas.map(|(name, schema)| (vec![keyword.clone(), name.clone()], schema)));
            }
            (Holds::One, value) => children.push((vec![keyword.clone()], value)),
            _ => {}
        }
    }
    children
}

/// As [`parts`], to be changed.
pub(crate) fn parts_mut(schema: &mut Value) -> Vec<(Step, &mut Value)> {
    let mut children = children_mut(schema);
    children.retain(|(step, _)| is_part(&step[0]));
    children
}

/// A copy of `schema` in which `change` was applied to each schema's members, innermost first. What only looks like
/// a schema (a property called `items`, an object in `enum`) is left alone.
pub(crate) fn map(schema: &Value, change: &impl Fn(&mut Map<String, Value>)) -> Value {
    let mut schema = schema.clone();
    map_in_place(&mut schema, change);
    schema
}

fn map_in_place(schema: &mut Value, change: &impl Fn(&mut Map<String, Value>)) {
    for (_, child) in children_mut(schema) {
        map_in_place(child, change);
    }
    if let Some(members) = schema.as_object_mut() {
        change(members);
    }
}

/// Whether values of `kind` are among those that the schema's `type` admits.
pub(crate) fn has_type(members: &Map<String, Value>, kind: &str) -> bool {
    match members.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().any(|k| k == kind),
        Some(one) => one == kind,
        None => false,
    }
}

/// The values of an enum of strings, or `None` where `enum` is absent or has anything else in it.
pub(crate) fn string_enum(members: &Map<String, Value>) -> Option<Vec<&str>> {
    members
        .get("enum")?
        .as_array()?
        .iter()
        .map(Value::as_str)
        .collect()
}
