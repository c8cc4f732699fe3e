//! Traversal of the schemas in a schema.

use serde_json::{Map, Value};

/// Tabellion's own keys, which clients don't see.
pub const OURS: &[&str] = &["x-rust-name", "x-rust-union", "x-rust-map", "x-enforce"];

/// The steps from a schema to one in it, as tokens of a JSON pointer.
pub type Step = Vec<String>;

/// The form in which a keyword contains schemas.
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

/// Returns true if a keyword's value contains schemas.
pub fn holds_schemas(keyword: &str) -> bool {
    holds(keyword) != Holds::Nothing
}

/// Returns true if a keyword's subschemas describe parts of the value, not the value itself.
pub fn is_part(keyword: &str) -> bool {
    matches!(keyword, "properties" | "items" | "additionalProperties")
}

/// Returns the schemas directly in `schema`, in the order of the text.
pub fn children(schema: &Value) -> Vec<(Step, &Value)> {
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

/// Returns those of [`children`] that describe parts of the value. Only these can contain our own keys.
pub fn parts(schema: &Value) -> Vec<(Step, &Value)> {
    let mut children = children(schema);
    children.retain(|(step, _)| is_part(&step[0]));
    children
}

/// Like [`children`], mutable.
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

/// Like [`parts`], mutable.
pub fn parts_mut(schema: &mut Value) -> Vec<(Step, &mut Value)> {
    let mut children = children_mut(schema);
    children.retain(|(step, _)| is_part(&step[0]));
    children
}

/// Returns a copy of `schema` with `change` applied to each schema's members, innermost first. Values that only look like
/// schemas (a property called `items`, an object in `enum`) stay unchanged.
pub fn map(schema: &Value, change: &impl Fn(&mut Map<String, Value>)) -> Value {
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

/// Removes the property `name` of an object's schema.
pub fn remove_property(schema: &mut Value, name: &str) {
    if let Some(properties) = schema["properties"].as_object_mut() {
        properties.shift_remove(name);
    }
    if let Some(required) = schema["required"].as_array_mut() {
        required.retain(|required| required != name);
    }
}

/// Returns true if the schema's `type` permits values of `kind`.
pub fn has_type(members: &Map<String, Value>, kind: &str) -> bool {
    match members.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().any(|k| k == kind),
        Some(one) => one == kind,
        None => false,
    }
}
