//! Two views of an authored schema.
//!
//! *Wire* is the schema that clients see: the source document's, key by key. *Enforced* is the schema that the server checks: the wire
//! view, the rules of `x-enforce`, integers limited to the range that is exact in JSON and, for a request, a ban on members without a field
//! in its type.

use serde_json::{Map, Value};

use super::walk as schema;
use crate::pointer;

/// The largest integer that every JSON implementation represents exactly (RFC 8259, section 6).
pub const LARGEST_INTEGER: i64 = 9_007_199_254_740_991;

/// Annotation keywords, which do not constrain values.
const ANNOTATIONS: &[&str] =
    &["title", "description", "default", "examples", "deprecated", "readOnly", "$comment"];

/// Marks, at the root of a schema, a request with a generated type: members without a field in the type are refused. Generated code sets
/// it.
pub const CLOSED: &str = "x-closed";

/// Returns the wire view: `schema` without our own keys.
pub fn wire(schema: &Value) -> Value {
    let mut schema = schema::map(schema, &|members| {
        members.retain(|key, _| !schema::OURS.contains(&key.as_str()));
    });
    unmark(&mut schema);
    schema
}

/// Returns the enforced view.
///
/// `x-enforce` becomes the end of `allOf`, so the wire view covers it by construction. For a request that is marked [`CLOSED`], members
/// outside of `properties` are refused unless a keyword permits them: the type would silently drop them.
pub fn enforced(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if unmark(&mut schema) {
        close(&mut schema);
    }
    let mut schema = bare(&schema);
    enforce(&mut schema);
    wire(&schema)
}

/// Removes the mark; returns true if it was present.
fn unmark(schema: &mut Value) -> bool {
    let mark = schema.as_object_mut().and_then(|it| it.shift_remove(CLOSED));
    mark.is_some()
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

/// Returns `schema` without annotation keywords.
pub fn bare(schema: &Value) -> Value {
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

/// Keywords that permit or describe members outside of `properties`.
const OPEN: [&str; 5] = ["additionalProperties", "allOf", "anyOf", "oneOf", "x-rust-map"];

fn close(schema: &mut Value) {
    for (_, part) in schema::parts_mut(schema) {
        close(part);
    }
    if let Some(members) = schema.as_object_mut()
        && members.contains_key("properties")
        && !OPEN.iter().any(|keyword| members.contains_key(*keyword))
    {
        members.insert("additionalProperties".into(), false.into());
    }
}

/// A rule of `x-enforce` and its location.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// Stable id.
    pub id: String,
    /// Message for a value that breaks it.
    pub message: String,
    /// JSON pointer to the rule in the authored schema.
    pub authored: String,
    /// JSON pointer to the rule in the enforced schema.
    pub enforced: String,
    /// JSON pointer to the schema with the rule, in both.
    pub owner: String,
}

/// Returns the rules in `schema`, in the order of the text.
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
        let at = step.iter().fold(at.to_owned(), |at, token| pointer::push(&at, token));
        collect(part, &at, found);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn authored() -> Value {
        json!({
            "type": "object",
            "title": "T",
            "x-rust-name": "T",
            "required": ["items"],
            "properties": {
                "items": { "type": "integer", "default": 1, "x-enforce": [{ "id": "a", "message": "A", "schema": { "minimum": 1 } }] },
                "x-rust-name": { "enum": [{ "x-enforce": [] }], "x-rust-name": "E" },
                "list": {
                    "type": "array",
                    "items": {
                        "not": { "type": "integer" },
                        "allOf": [{ "minLength": 1 }],
                        "x-enforce": [{ "id": "b", "message": "B", "schema": { "maxLength": 2 } }],
                    },
                },
            },
        })
    }

    /// Compares as text, since the order of keys counts.
    #[track_caller]
    fn assert_same(view: &Value, expected: &Value) {
        assert_eq!(view.to_string(), expected.to_string());
    }

    #[test]
    fn clients_see_the_authored_schema_without_our_keys_and_nothing_that_only_looks_like_them_is_lost() {
        let expected = json!({
            "type": "object",
            "title": "T",
            "required": ["items"],
            "properties": {
                "items": { "type": "integer", "default": 1 },
                "x-rust-name": { "enum": [{ "x-enforce": [] }] },
                "list": {
                    "type": "array",
                    "items": { "not": { "type": "integer" }, "allOf": [{ "minLength": 1 }] },
                },
            },
        });
        assert_same(&wire(&authored()), &expected);
    }

    #[test]
    fn clauses_end_all_of_and_integers_are_bounded_where_that_narrows() {
        let expected = json!({
            "type": "object",
            "required": ["items"],
            "properties": {
                "items": {
                    "type": "integer",
                    "minimum": -9007199254740991_i64,
                    "maximum": 9007199254740991_i64,
                    "allOf": [{ "minimum": 1 }],
                },
                "x-rust-name": { "enum": [{ "x-enforce": [] }] },
                "list": {
                    "type": "array",
                    "items": { "not": { "type": "integer" }, "allOf": [{ "minLength": 1 }, { "maxLength": 2 }] },
                },
            },
        });
        assert_same(&enforced(&authored()), &expected);
    }

    #[test]
    fn a_request_has_no_members_that_its_type_would_drop() {
        let marked = |mut schema: Value| {
            schema[CLOSED] = true.into();
            let (wire, enforced) = (wire(&schema), enforced(&schema));
            assert!(wire.get(CLOSED).is_none() && enforced.get(CLOSED).is_none());
            enforced
        };
        let closed = |schema: Value| marked(schema)["additionalProperties"] == false;
        let properties = || json!({ "a": { "type": "string" } });
        for (schema, expected) in [
            (json!({ "type": "object", "properties": properties() }), true),
            (json!({ "type": "object" }), false),
            (json!({ "type": "object", "properties": properties(), "additionalProperties": true }), false),
            (json!({ "type": "object", "properties": properties(), "x-rust-map": true }), false),
            (json!({ "type": "object", "properties": properties(), "anyOf": [{}] }), false),
        ] {
            assert_eq!(closed(schema.clone()), expected, "{schema}");
            assert!(!closed(json!({ "items": schema })), "not where there are no members");
        }
        let within = json!({ "type": "object", "properties": { "in": { "type": "object", "properties": properties() } } });
        assert_eq!(marked(within)["properties"]["in"]["additionalProperties"], false);
    }

    #[test]
    fn a_rule_is_found_in_both_views() {
        let schema = authored();
        let found: Vec<_> = rules(&schema)
            .into_iter()
            .map(|rule| {
                assert_eq!(schema.pointer(&rule.authored).unwrap()["id"], rule.id);
                let clause = enforced(&schema).pointer(&rule.enforced).unwrap().to_string();
                (rule.owner, clause)
            })
            .collect();
        let expected = [
            ("/properties/items".into(), r#"{"minimum":1}"#.into()),
            ("/properties/list/items".into(), r#"{"maxLength":2}"#.into()),
        ];
        assert_eq!(found, expected);
    }
}
