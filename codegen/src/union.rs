//! `x-rust-union`: a flat object with a tag becomes a Rust enum.
//!
//! The fields of a variant and the required ones are proved, not declared: for the variant's tag value, a field is removed if
//! no valid object has it, and required if no valid object lacks it.

use serde_json::{Map, Value, json};

use crate::{algebra, views};

/// Returns the schema of the enum: `oneOf` with one closed set of properties per value of `tag`. `lowered` is the object's schema without
/// it. An error is the fault and the remedy.
pub(crate) fn lower(
    schema: &Value,
    lowered: &Map<String, Value>,
    tag: &str,
) -> Result<Map<String, Value>, (String, &'static str)> {
    const NEEDS: &str = "a union needs a required property of that name, an enum of at least two strings";
    let properties = &schema["properties"];
    let values: Option<Vec<&str>> =
        properties[tag]["enum"].as_array().and_then(|values| values.iter().map(Value::as_str).collect());
    let required = schema["required"].as_array();
    let Some(values) = values else {
        return Err((format!("`{tag}` is not an enum of strings"), NEEDS));
    };
    if values.len() < 2 {
        return Err((format!("`{tag}` has but one value"), NEEDS));
    }
    if !required.is_some_and(|names| names.iter().any(|name| name == tag)) {
        return Err((format!("`{tag}` may be absent"), NEEDS));
    }
    if lowered.get("additionalProperties").is_some_and(|others| *others != false) {
        let message = "an enum's variants can't keep members that are not listed".into();
        return Err((message, "add `\"additionalProperties\": false`, or remove the union"));
    }
    let enforced = views::enforced(schema);
    let variants: Vec<_> =
        values.into_iter().filter_map(|value| variant(&enforced, lowered, tag, value)).collect();
    let mut union = Map::new();
    if let Some(description) = lowered.get("description") {
        union.insert("description".into(), description.clone());
    }
    union.insert("oneOf".into(), variants.into());
    Ok(union)
}

/// Returns the object with `tag` at `value`; `None` if no valid object has that value.
fn variant(enforced: &Value, lowered: &Map<String, Value>, tag: &str, value: &str) -> Option<Value> {
    let case =
        |more: Value| json!({ "allOf": [enforced, { "properties": { tag: { "const": value } } }, more] });
    if algebra::is_empty(&case(json!(true))) {
        return None;
    }
    let mut fields = Map::new();
    let mut required = vec![];
    for (name, field) in lowered["properties"].as_object().into_iter().flatten() {
        if name == tag {
            fields.insert(name.clone(), json!({ "type": "string", "enum": [value] }));
            required.push(name.as_str());
            continue;
        }
        if algebra::is_empty(&case(json!({ "required": [name] }))) {
            continue;
        }
        if algebra::is_empty(&case(json!({ "properties": { name: false } }))) {
            required.push(name);
        }
        fields.insert(name.clone(), field.clone());
    }
    let mut variant = json!({ "type": "object", "properties": fields, "required": required });
    if let Some(others) = lowered.get("additionalProperties") {
        variant["additionalProperties"] = others.clone();
    }
    Some(variant)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the variants of an object with `kind` (a, b or c), `x` and `y`, which satisfies `rules`: `a(x!, y)` requires `x`
    /// and can have `y`.
    fn variants(rules: Value) -> String {
        let mut schema = json!({
            "type": "object",
            "required": ["kind"],
            "properties": {
                "kind": { "type": "string", "enum": ["a", "b", "c"] },
                "x": { "type": "string" },
                "y": { "type": "integer" },
            },
            "additionalProperties": false,
        });
        let rules = rules.as_array().into_iter().flatten();
        schema["x-enforce"] = rules.map(|schema| json!({ "schema": schema })).collect();
        let union = lower(&schema, schema.as_object().unwrap(), "kind").unwrap();
        let variants = union["oneOf"].as_array().unwrap().iter().map(|variant| {
            let name = variant["properties"]["kind"]["enum"][0].as_str().unwrap();
            let required = variant["required"].as_array().unwrap();
            let fields = variant["properties"].as_object().unwrap().keys();
            let fields = fields.filter(|field| *field != "kind").map(|field| {
                let mark = if required.iter().any(|name| name == field) { "!" } else { "" };
                format!("{field}{mark}")
            });
            format!("{name}({})", fields.collect::<Vec<_>>().join(", "))
        });
        variants.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn what_a_variant_has_and_needs_follows_from_the_rules() {
        let when = |kinds: Value, then: Value| json!({ "if": { "properties": { "kind": { "enum": kinds } } }, "then": then });
        for (rules, expected) in [
            (json!([]), "a(x, y) b(x, y) c(x, y)"),
            (json!([{ "required": ["x"] }]), "a(x!, y) b(x!, y) c(x!, y)"),
            (json!([when(json!(["a", "b"]), json!({ "required": ["x"] }))]), "a(x!, y) b(x!, y) c(x, y)"),
            (json!([when(json!(["c"]), json!({ "not": { "required": ["x"] } }))]), "a(x, y) b(x, y) c(y)"),
            (json!([when(json!(["c"]), json!({ "properties": { "y": false } }))]), "a(x, y) b(x, y) c(x)"),
            (json!([when(json!(["c"]), json!({ "maxProperties": 1 }))]), "a(x, y) b(x, y) c()"),
            (json!([when(json!(["a"]), json!({ "minProperties": 3 }))]), "a(x!, y!) b(x, y) c(x, y)"),
            (
                json!([{ "if": { "required": ["y"] }, "then": { "properties": { "kind": { "const": "b" } } } }]),
                "a(x) b(x, y) c(x)",
            ),
            (
                json!([{ "dependentRequired": { "x": ["y"] } }, { "required": ["x"] }]),
                "a(x!, y!) b(x!, y!) c(x!, y!)",
            ),
            (json!([{ "properties": { "kind": { "not": { "const": "b" } } } }]), "a(x, y) c(x, y)"),
        ] {
            assert_eq!(variants(rules.clone()), expected, "{rules}");
        }
    }
}
