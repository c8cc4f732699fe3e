//! The schemas of fields' values, and values that satisfy them.

use serde_json::{Value, json};
use tabellion_runtime::rows::{MAX_LOOSE_CHARS, pascal};

use super::{
    read::Field,
    table::{MAX_ITEMS, MAX_TEXT, max_chars},
};

/// The characters of ids. Their length is checked separately: a bounded repetition is slow to compile, and contracts have thousands of ids.
const ID: &str = "^[A-Za-z0-9._:-]*$";
const MAX_ID: usize = 128;

/// Returns the schema of a field's values.
/// `is_request` adds the spellings that only requests may use.
pub(super) fn value(field: &Field, is_request: bool) -> Value {
    let mut schema = match field.kind {
        "ref" if field.loose => json!({ "type": "string", "minLength": 1, "maxLength": MAX_LOOSE_CHARS }),
        "id" | "ref" if is_request => {
            json!({ "type": "string", "minLength": 1, "maxLength": MAX_ID, "pattern": ID })
        }
        // Answers contain ids that came from requests or from the store.
        "id" | "ref" => json!({ "type": "string", "minLength": 1, "maxLength": MAX_ID }),
        "string" => {
            let mut schema = json!({ "type": "string" });
            if let Some(min) = field.min_length {
                schema["minLength"] = min.into();
            }
            schema["maxLength"] = max_chars(field).into();
            if let Some(pattern) = &field.pattern {
                schema["pattern"] = (*pattern).into();
            }
            if field.format == Some("email") {
                schema["format"] = "email".into();
            }
            schema
        }
        "integer" => {
            let mut schema = json!({ "type": "integer" });
            if let Some(min) = field.minimum {
                schema["minimum"] = min.into();
            }
            if let Some(max) = field.maximum {
                schema["maximum"] = max.into();
            }
            schema
        }
        "number" => json!({ "type": "number" }),
        "boolean" => json!({ "type": "boolean" }),
        "enum" => {
            let words = field.values.iter().map(|word| (*word).to_owned());
            let spelt = field.values.iter().map(|word| pascal(word));
            let spelt = spelt.filter(|word| !field.values.contains(&word.as_str()));
            let spelt = spelt.filter(|_| is_request && field.pascal_case);
            let words: Vec<_> = words.chain(spelt).collect();
            json!({ "type": "string", "enum": words })
        }
        "time" | "now" => json!({ "type": "integer" }),
        "next" | "seq" => json!({ "type": "integer", "minimum": 0 }),
        "list" => json!({
            "type": "array",
            "maxItems": field.max_items.unwrap_or(MAX_ITEMS),
            "items": { "type": "string", "maxLength": field.max_length.unwrap_or(MAX_TEXT) },
        }),
        // The answer to a repeated call lacks it.
        "secret" => json!({ "type": ["string", "null"] }),
        _ => json!({}),
    };
    if let Some(description) = &field.description {
        schema["description"] = (*description).into();
    }
    if field.optional && !schema["type"].is_null() {
        schema["type"] = json!([schema["type"], "null"]);
        if let Some(Value::Array(values)) = schema.get_mut("enum") {
            values.push(Value::Null);
        }
    }
    schema
}

/// Returns a value that satisfies a schema made by [`value`].
pub(super) fn sample(schema: &Value) -> Value {
    if let Some(first) = schema["enum"].get(0) {
        return first.clone();
    }
    let kind = schema["type"].get(0).unwrap_or(&schema["type"]);
    match kind.as_str() {
        Some("string") if schema["format"] == "email" => "a@example.org".into(),
        Some("string") => "x".repeat(schema["minLength"].as_u64().unwrap_or(1).max(1) as usize).into(),
        Some("integer" | "number") => schema["minimum"].as_i64().unwrap_or(0).into(),
        Some("boolean") => true.into(),
        Some("array") => json!([]),
        Some("object") => {
            let required = schema["required"].as_array().into_iter().flatten();
            let names = required.filter_map(Value::as_str);
            let value = |name: &str| (name.to_owned(), sample(&schema["properties"][name]));
            Value::Object(names.map(value).collect())
        }
        _ => Value::Null,
    }
}
