//! Requests that are made up from a schema alone.

use serde_json::{Map, Value, json};

/// Depth below which a sample has no optional members, and references are not followed.
const MAX_DEPTH: usize = 8;

/// Returns a request that the schema of a tool's input probably accepts: with all members, or with those that are required.
pub(crate) fn request(schema: &Value, is_whole: bool) -> Value {
    let request = Sampler(schema).sample("", schema, is_whole, 0);
    if request.is_object() { request } else { json!({}) }
}

/// Makes values for the parts of a schema.
struct Sampler<'a>(&'a Value);

impl Sampler<'_> {
    /// Returns a value that the schema of the member `name` probably accepts: with all members of objects, or with those that are required.
    fn sample(&self, name: &str, schema: &Value, is_whole: bool, depth: usize) -> Value {
        if depth > MAX_DEPTH {
            return Value::Null;
        }
        if let Some(reference) = schema["$ref"].as_str() {
            let target = reference.strip_prefix('#').and_then(|at| self.0.pointer(at));
            return target.map_or(Value::Null, |target| self.sample(name, target, is_whole, depth + 1));
        }
        let shown = ["const", "default"].into_iter().find_map(|key| schema.get(key));
        let listed = ["enum", "examples"].into_iter().find_map(|key| schema[key].as_array()?.first());
        if let Some(value) = shown.or(listed).filter(|value| !value.is_null()) {
            return value.clone();
        }
        for key in ["anyOf", "oneOf", "allOf"] {
            let parts = schema[key].as_array().map(Vec::as_slice).unwrap_or_default();
            if let Some(part) = parts.iter().find(|part| part["type"] != "null") {
                let mut whole = part.clone();
                if let (Some(whole), Some(around)) = (whole.as_object_mut(), schema.as_object()) {
                    let around = around.iter().filter(|(name, _)| *name != key);
                    for (name, value) in around {
                        whole.entry(name).or_insert_with(|| value.clone());
                    }
                }
                return self.sample(name, &whole, is_whole, depth + 1);
            }
        }
        let kinds = schema["type"].as_array().map(Vec::as_slice);
        let kinds = kinds.unwrap_or(std::slice::from_ref(&schema["type"]));
        let kind = kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null");
        let kind = kind.unwrap_or(if schema.get("properties").is_some() { "object" } else { "string" });
        let bound = |key: &str| schema[key].as_i64();
        match kind {
            "object" => self.object(schema, is_whole, depth),
            "array" => {
                // An edit without items has no effect.
                let wants_one = is_whole || schema["items"]["type"] == "object";
                let items = bound("minItems").unwrap_or(i64::from(wants_one)).clamp(0, 100);
                let item = || self.sample(name, &schema["items"], is_whole, depth + 1);
                (0..items).map(|_| item()).collect()
            }
            "boolean" => json!(false),
            "integer" | "number" => {
                let least = bound("minimum").or(bound("exclusiveMinimum").map(|least| least + 1));
                let most = bound("maximum").unwrap_or(i64::MAX);
                json!(least.unwrap_or(1).max(1).min(most))
            }
            _ => text(name, schema).into(),
        }
    }

    fn object(&self, schema: &Value, is_whole: bool, depth: usize) -> Value {
        let required = schema["required"].as_array().map(Vec::as_slice).unwrap_or_default();
        let members = schema["properties"].as_object().into_iter().flatten();
        let wanted = members.filter(|(name, _)| {
            is_whole && depth + 1 < MAX_DEPTH || required.iter().any(|it| it == name.as_str())
        });
        let made =
            wanted.map(|(name, member)| (name.clone(), self.sample(name, member, is_whole, depth + 1)));
        Value::Object(made.collect::<Map<_, _>>())
    }
}

/// Returns a text that suits the name of its member.
fn text(name: &str, schema: &Value) -> String {
    let name = name.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    let text = match schema["format"].as_str() {
        Some("uri" | "url") => "https://example.com/",
        Some("date") => "2026-01-02",
        Some("date-time") => "2026-01-02T03:04:05Z",
        Some("time") => "03:04:05Z",
        Some("email") => "ann@example.com",
        Some("uuid") => "b64aa32c-2a94-4f38-8ca0-d2339eafc199",
        // A line of the documents of checks.
        _ if ["old", "search", "find"].iter().any(|word| name.starts_with(word)) => "Intro.",
        _ if has(&["dir", "folder"]) => "notes",
        _ if has(&["path", "file"]) => "notes/plan.md",
        _ => "plan",
    };
    let least = usize::try_from(schema["minLength"].as_u64().unwrap_or(0).min(10_000)).unwrap_or(0);
    format!("{text:x<least$}")
}
