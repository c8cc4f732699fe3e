//! MCP's official schemas, and a server's messages held against them.
//!
//! `mcp/` holds what a server of tools can send, of the revisions that are spoken here; each file says where it is from.

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock, Mutex, PoisonError},
};

use jsonschema::{ValidationError, Validator, error::ValidationErrorKind};
use serde_json::{Value, json};

const EXCERPTS: [(&str, &str); 3] = [
    ("2025-06-18", include_str!("../mcp/2025-06-18.json")),
    ("2025-11-25", include_str!("../mcp/2025-11-25.json")),
    ("2026-07-28", include_str!("../mcp/2026-07-28.json")),
];

/// Holds a message of a server against the schema of `revision`; `method` is that of the request that it answers, if it
/// answers one. Revisions before 2025-06-18 are held against that one.
///
/// # Errors
/// What is wrong, and where.
pub fn check(revision: &str, method: Option<&str>, message: &Value) -> Result<(), String> {
    valid(revision, envelope(revision, message), message)?;
    if let Some(result) = message.get("result") {
        let definition = match method {
            Some("initialize") => "InitializeResult",
            Some("server/discover") => "DiscoverResult",
            Some("tools/list") => "ListToolsResult",
            // It has not been called yet: the server wants something first.
            Some("tools/call") if result["resultType"] == "input_required" => "Result",
            Some("tools/call") => "CallToolResult",
            _ => "Result",
        };
        return valid(revision, definition, result);
    }
    if message["error"]["code"] == -32022 {
        return valid(revision, "UnsupportedProtocolVersionError", message);
    }
    let Some(said) = message["method"].as_str() else {
        return Ok(());
    };
    if message.get("id").is_none() {
        return match notification(revision, said) {
            Some(definition) => valid(revision, &definition, message),
            // JSON-RPC has room for notifications of one's own.
            None => Ok(()),
        };
    }
    // A client without any capability can be asked for nothing else, and in the newest revision for nothing at all.
    if revision_of(revision).0 < "2026" && said == "ping" {
        return valid(revision, "PingRequest", message);
    }
    Err(format!(
        "a server must not send the request `{said}` to a client that has not offered it"
    ))
}

/// The definition that a message of this kind has to satisfy, whatever it is about. Its name depends on the revision.
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

/// The definition of the notification of this method.
fn notification(revision: &str, method: &str) -> Option<String> {
    let schema: Value = serde_json::from_str(revision_of(revision).1).ok()?;
    let definitions = schema[place(&schema)].as_object()?;
    let mut all = definitions.iter();
    let found = all
        .find(|(name, it)| name.ends_with("Notification") && it["properties"]["method"]["const"] == method)?;
    Some(found.0.clone())
}

fn valid(revision: &str, definition: &str, value: &Value) -> Result<(), String> {
    let revision = revision_of(revision).0;
    let Some(validator) = validator(revision, definition) else {
        return Err(format!("MCP {revision} has no {definition}"));
    };
    validator.validate(value).map_err(|error| {
        let error = telling(&error);
        let place = error.instance_path();
        format!(
            "not a {definition} of MCP {revision}: {} at `{place}`",
            error.masked()
        )
    })
}

/// The error that says most: where one of several shapes was to fit, what is wrong with the one that fits best.
fn telling<'a>(error: &'a ValidationError<'a>) -> &'a ValidationError<'a> {
    let (ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context }) =
        error.kind()
    else {
        return error;
    };
    let best = context.iter().min_by_key(|errors| errors.len());
    best.and_then(|errors| errors.first()).map_or(error, telling)
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
    let place = place(&schema);
    schema[place].get(definition)?;
    schema["$ref"] = json!(format!("#/{place}/{definition}"));
    let validator = Arc::new(jsonschema::validator_for(&schema).ok()?);
    validators.insert(key, validator.clone());
    Some(validator)
}

fn place(schema: &Value) -> &'static str {
    if schema.get("$defs").is_some() {
        "$defs"
    } else {
        "definitions"
    }
}

/// The revision whose schema is to be used, and the schema.
fn revision_of(revision: &str) -> (&'static str, &'static str) {
    let mut later = EXCERPTS.into_iter().filter(|(of, _)| *of >= revision);
    later.next().unwrap_or(EXCERPTS[EXCERPTS.len() - 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excerpts_are_whole() {
        for (revision, text) in EXCERPTS {
            let schema: Value = serde_json::from_str(text).unwrap();
            assert!(
                schema["$comment"]
                    .as_str()
                    .unwrap()
                    .contains("modelcontextprotocol")
            );
            for name in schema[place(&schema)].as_object().unwrap().keys() {
                assert!(validator(revision, name).is_some(), "{revision}: {name}");
            }
        }
    }

    #[test]
    fn messages_are_judged() {
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
            (
                "2025-11-25",
                None,
                &json!({ "jsonrpc": "2.0", "method": "x/own" }),
                true,
            ),
            ("2025-11-25", None, &json!({ "method": "x/own" }), false),
            ("2025-11-25", None, &json!([]), false),
        ];
        for (revision, method, message, expected) in cases {
            let judged = check(revision, method, message);
            assert_eq!(
                judged.is_ok(),
                expected,
                "{revision} {method:?} {message}: {judged:?}"
            );
        }
    }

    #[test]
    fn the_reason_is_that_of_the_shape_that_fits_best() {
        let result = json!({ "content": [{ "text": "x" }], "resultType": "complete" });
        let message = json!({ "jsonrpc": "2.0", "id": 1, "result": result });
        let why = check("2026-07-28", Some("tools/call"), &message).unwrap_err();
        assert!(
            why.contains("\"type\" is a required property at `/content/0`"),
            "{why}"
        );
    }
}
