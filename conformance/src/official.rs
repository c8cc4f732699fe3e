//! Validates a server's messages against MCP's official schemas.
//!
//! `mcp/` contains, for each supported revision, the definitions that a server with tools can send. Each file names its
//! source.

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock, Mutex, PoisonError},
};

use jsonschema::{ValidationError, Validator, error::ValidationErrorKind};
use serde_json::{Value, json};

use crate::judgement::{Cause, Stop, fail};

const EXCERPTS: [(&str, &str); 3] = [
    ("2025-06-18", include_str!("../mcp/2025-06-18.json")),
    ("2025-11-25", include_str!("../mcp/2025-11-25.json")),
    ("2026-07-28", include_str!("../mcp/2026-07-28.json")),
];

/// A message breaks MCP's schema.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{what}")]
pub struct Violation {
    what: String,
    /// The violation in words that are the same in every revision.
    gist: String,
}

impl Violation {
    /// Returns it with an excerpt of the message.
    #[must_use]
    pub fn in_message(self, excerpt: &str) -> Self {
        Self { what: format!("{}: {excerpt}", self.what), ..self }
    }
}

impl From<Violation> for Stop {
    fn from(violation: Violation) -> Self {
        fail(violation.what).because(Some(Cause::Schema(violation.gist)))
    }
}

/// Validates a server's message against the schema of `revision`. `method` is the method of the request that the
/// message answers, if any. Revisions before 2025-06-18 use that revision's schema.
///
/// # Errors
/// A description of the violation, with its location.
pub fn check(revision: &str, method: Option<&str>, message: &Value) -> Result<(), Violation> {
    valid(revision, envelope(revision, message), message)?;
    if let Some(result) = message.get("result") {
        let definition = match method {
            Some("initialize") => "InitializeResult",
            Some("server/discover") => "DiscoverResult",
            Some("tools/list") => "ListToolsResult",
            // The tool has not run yet: the server asks for input first.
            Some("tools/call") if result["resultType"] == "input_required" => "Result",
            Some("tools/call") => "CallToolResult",
            _ => "Result",
        };
        return valid(revision, definition, result);
    }
    if message["error"]["code"] == -32022 {
        return valid(revision, "UnsupportedProtocolVersionError", message);
    }
    let Some(sent) = message["method"].as_str() else {
        return Ok(());
    };
    if message.get("id").is_none() {
        return match notification(revision, sent) {
            Some(definition) => valid(revision, &definition, message),
            // JSON-RPC permits notifications that MCP does not define.
            None => Ok(()),
        };
    }
    // A client without capabilities can only receive `ping`, and in the newest revision no request at all.
    if revision_of(revision).0 < "2026" && sent == "ping" {
        return valid(revision, "PingRequest", message);
    }
    let what = format!("the server sent the request `{sent}` to a client without that capability");
    Err(Violation { gist: what.clone(), what })
}

/// Returns the JSON-RPC definition for a message of this kind. Its name depends on the revision.
fn envelope(revision: &str, message: &Value) -> &'static str {
    let has = |member| message.get(member).is_some();
    match revision_of(revision).0 {
        _ if has("method") && has("id") => "JSONRPCRequest",
        _ if has("method") => "JSONRPCNotification",
        "2025-06-18" if has("error") => "JSONRPCError",
        _ if has("error") => "JSONRPCErrorResponse",
        "2025-06-18" if has("result") => "JSONRPCResponse",
        _ if has("result") => "JSONRPCResultResponse",
        _ => "JSONRPCMessage",
    }
}

/// Returns the name of the definition for notifications with this method.
fn notification(revision: &str, method: &str) -> Option<String> {
    let schema: Value = serde_json::from_str(revision_of(revision).1).ok()?;
    let definitions = schema[definitions_key(&schema)].as_object()?;
    let mut all = definitions.iter();
    let found = all
        .find(|(name, it)| name.ends_with("Notification") && it["properties"]["method"]["const"] == method)?;
    Some(found.0.clone())
}

fn valid(revision: &str, definition: &str, value: &Value) -> Result<(), Violation> {
    let revision = revision_of(revision).0;
    let violation = |how: String| Violation {
        what: format!("not a {definition} of MCP {revision}: {how}"),
        gist: format!("not a {definition}: {how}"),
    };
    let Some(validator) = validator(revision, definition) else {
        return Err(violation("the revision has no such definition".to_owned()));
    };
    validator.validate(value).map_err(|error| {
        let error = most_specific(&error);
        violation(format!("{} at `{}`", error.masked(), error.instance_path()))
    })
}

/// Returns the most specific error: of several alternatives, the first error of the one with the fewest.
fn most_specific<'a>(error: &'a ValidationError<'a>) -> &'a ValidationError<'a> {
    let (ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context }) =
        error.kind()
    else {
        return error;
    };
    let best = context.iter().min_by_key(|errors| errors.len());
    best.and_then(|errors| errors.first()).map_or(error, most_specific)
}

fn validator(revision: &'static str, definition: &str) -> Option<Arc<Validator>> {
    type Key = (&'static str, String);
    static VALIDATORS: LazyLock<Mutex<HashMap<Key, Arc<Validator>>>> = LazyLock::new(Mutex::default);

    let mut validators = VALIDATORS.lock().unwrap_or_else(PoisonError::into_inner);
    let key = (revision, definition.to_owned());
    if let Some(known) = validators.get(&key) {
        return Some(known.clone());
    }
    let mut schema: Value = serde_json::from_str(revision_of(revision).1).ok()?;
    let definitions = definitions_key(&schema);
    schema[definitions].get(definition)?;
    schema["$ref"] = json!(format!("#/{definitions}/{definition}"));
    let validator = Arc::new(jsonschema::validator_for(&schema).ok()?);
    validators.insert(key, validator.clone());
    Some(validator)
}

fn definitions_key(schema: &Value) -> &'static str {
    if schema.get("$defs").is_some() { "$defs" } else { "definitions" }
}

/// Returns the revision whose schema applies, and the schema.
fn revision_of(revision: &str) -> (&'static str, &'static str) {
    let mut later = EXCERPTS.into_iter().filter(|(of, _)| *of >= revision);
    later.next().unwrap_or(EXCERPTS[EXCERPTS.len() - 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excerpts_have_no_dangling_references() {
        for (revision, text) in EXCERPTS {
            let schema: Value = serde_json::from_str(text).unwrap();
            assert!(schema["$comment"].as_str().unwrap().contains("modelcontextprotocol"));
            for name in schema[definitions_key(&schema)].as_object().unwrap().keys() {
                assert!(validator(revision, name).is_some(), "{revision}: {name}");
            }
        }
    }

    #[test]
    fn messages_are_validated() {
        let result = |result: Value| json!({ "jsonrpc": "2.0", "id": 1, "result": result });
        let called = result(json!({ "content": [{ "type": "text", "text": "x" }] }));
        let untyped = result(json!({ "content": [{ "text": "x" }] }));
        let error = json!({ "jsonrpc": "2.0", "error": { "code": -32700, "message": "x" } });
        let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
        let log = |level: &str| {
            let params = json!({ "level": level, "data": 1 });
            json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": params })
        };
        let cases = [
            ("2025-11-25", Some("tools/call"), &called, true),
            ("2026-07-28", Some("tools/call"), &called, false),
            ("2025-11-25", Some("tools/call"), &untyped, false),
            ("2025-11-25", Some("tools/list"), &called, false),
            ("2025-11-25", Some("ping"), &result(json!({})), true),
            ("2024-11-05", Some("ping"), &result(json!([])), false),
            ("2025-11-25", None, &error, true),
            ("2025-11-25", None, &ping, true),
            ("2026-07-28", None, &ping, false),
            ("2026-07-28", None, &log("info"), true),
            ("2026-07-28", None, &log("loud"), false),
            ("2025-11-25", None, &json!({ "jsonrpc": "2.0", "method": "x/own" }), true),
            ("2025-11-25", None, &json!({ "method": "x/own" }), false),
            ("2025-11-25", None, &json!([]), false),
        ];
        for (revision, method, message, expected) in cases {
            let judged = check(revision, method, message);
            assert_eq!(judged.is_ok(), expected, "{revision} {method:?} {message}: {judged:?}");
        }
    }

    #[test]
    fn the_error_is_that_of_the_closest_alternative() {
        let result = json!({ "content": [{ "text": "x" }], "resultType": "complete" });
        let message = json!({ "jsonrpc": "2.0", "id": 1, "result": result });
        let why = check("2026-07-28", Some("tools/call"), &message).unwrap_err().to_string();
        assert!(why.contains("\"type\" is a required property at `/content/0`"), "{why}");
    }
}
