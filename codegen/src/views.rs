//! Second pass: one authored schema, seen three ways.
//!
//! *Wire* is what clients see: the source document's schema, key by key. *Enforced* is what the server checks: the
//! wire view, its clauses from `x-enforce`, and integers within what JSON numbers hold everywhere. The third view,
//! what typify makes Rust types of, is in [`types`](crate::types).

use serde_json::{Map, Value};

use crate::{pointer, schema};

/// The largest integer that every JSON implementation keeps exactly (RFC 8259, section 6).
pub(crate) const LARGEST_INTEGER: i64 = 9_007_199_254_740_991;

/// Keywords that say something to people and nothing about values.
const ANNOTATIONS: &[&str] = &[
    "title",
    "description",
    "default",
    "examples",
    "deprecated",
    "$comment",
];

/// What clients see: `schema` without our own keys.
pub fn wire(schema: &Value) -> Value {
    schema::map(schema, &|members| {
        members.retain(|key, _| !schema::OURS.contains(&key.as_str()));
    })
}

/// What the server checks.
///
/// `x-enforce` becomes the end of `allOf`, so the wire view covers it by construction.
pub fn enforced(schema: &Value) -> Value {
    let mut schema = bare(schema);
    enforce(&mut schema);
    wire(&schema)
}

fn enforce(schema: &mut Value) {
    for (_, part) in schema::parts_mut(schema) {
        enforce(part);
    }
    let Some(members) = schema.as_object_mut() else {
        return;
    };
    bound_integers(members);
    if let Some(Value::Array(clauses)) = members.shift_remove("x-enforce")
        && !clauses.is_empty()
    {
        let all = members.entry("allOf").or_insert_with(|| Value::Array(vec![]));
        if let Some(all) = all.as_array_mut() {
            all.extend(clauses.into_iter().map(|mut clause| clause["schema"].take()));
        }
    }
}

/// `schema` without what it says to people.
pub(crate) fn bare(schema: &Value) -> Value {
    schema::map(schema, &|members| {
        members.retain(|key, _| !ANNOTATIONS.contains(&key.as_str()));
    })
}

fn bound_integers(members: &mut Map<String, Value>) {
    if !schema::has_type(members, "integer") || schema::has_type(members, "number") {
        return;
    }
    if !members.contains_key("minimum") && !members.contains_key("exclusiveMinimum") {
        members.insert("minimum".into(), (-LARGEST_INTEGER).into());
    }
    if !members.contains_key("maximum") && !members.contains_key("exclusiveMaximum") {
        members.insert("maximum".into(), LARGEST_INTEGER.into());
    }
}

/// A clause of `x-enforce` at its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// Stable id.
    pub id: String,
    /// What is wrong when it is broken.
    pub message: String,
    /// JSON pointer to the clause in the authored schema.
    pub authored: String,
    /// JSON pointer to the clause in the enforced schema.
    pub enforced: String,
    /// JSON pointer to the schema that has the clause, in both.
    pub owner: String,
}

/// The clauses in `schema`, in the order of the text.
pub fn rules(schema: &Value) -> Vec<Rule> {
    let mut found = vec![];
    collect(schema, "", &mut found);
    found
}

fn collect(schema: &Value, at: &str, found: &mut Vec<Rule>) {
    let before = schema["allOf"].as_array().map_or(0, Vec::len);
    let clauses = schema["x-enforce"].as_array();
    for (i, clause) in clauses.into_iter().flatten().enumerate() {
        found.push(Rule {
            id: clause["id"].as_str().unwrap_or_default().into(),
            message: clause["message"].as_str().unwrap_or_default().into(),
            authored: format!("{at}/x-enforce/{i}"),
            enforced: format!("{at}/allOf/{}", before + i),
            owner: at.into(),
        });
    }
    for (step, part) in schema::parts(schema) {
        collect(part, &pointer::walk(at, &step), found);
    }
}
