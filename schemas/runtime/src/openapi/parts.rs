//! Common parts of the descriptions of endpoints: references, headers, and the answers of refused requests.

use std::collections::BTreeSet;

use http::StatusCode;
use serde_json::{Value, json};

use crate::spec::{ContractSpec, ErrorBody, Severity, ToolSpec};

/// Name of an error that matches none of the contract's.
pub const UNNAMED: &str = "REFUSED";
/// Maximum number of characters of an ETag.
pub const MAX_ETAG: usize = 128;
const IF_NONE_MATCH: &str = "If-None-Match";
pub(super) const ERROR: &str = "Error";
pub(super) const TOOL: &str = "Tool";
/// Statuses of requests that are refused before they are calls: at any endpoint, at those that require credentials (from the fourth on),
/// and at those with a body (all).
pub(super) const REFUSALS: [u16; 11] = [400, 405, 503, 401, 403, 429, 408, 413, 415, 422, 500];

pub(super) fn reference(schema: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{schema}") })
}

pub(super) fn relocate(schema: &mut Value, place: &str) {
    match schema {
        Value::Object(members) => {
            for (key, value) in members {
                match value {
                    Value::String(target) if key == "$ref" && target.starts_with('#') => {
                        target.replace_range(..1, place);
                    }
                    value => relocate(value, place),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| relocate(item, place)),
        _ => {}
    }
}

/// Returns the statuses with which calls of a tool can be refused.
pub(super) fn refusals_of(contract: &ContractSpec, tool: &ToolSpec) -> BTreeSet<u16> {
    let of_tool = contract.statuses.iter();
    let of_tool = of_tool.filter(|status| tool.errors.contains(&status.error));
    REFUSALS.into_iter().chain(of_tool.map(|it| it.status)).collect()
}

/// Adds the header that names a document's content to a response.
pub(super) fn tagged(mut success: Value) -> Value {
    success["headers"] = json!({ "ETag": {
        "description": "The content that the document has now.",
        "schema": { "type": "string" },
    } });
    success
}

/// Returns the headers with the conditions of a change.
pub(super) fn conditions() -> [Value; 3] {
    [
        header(
            "Idempotency-Key",
            "The caller's own name for the call: sent again, it answers as the first time.",
            json!({ "type": "string", "pattern": "^[!-~]{1,255}$" }),
        ),
        header(
            "If-Match",
            "The `ETag` that the document must still have.",
            json!({ "type": "string", "pattern": format!("^([0-9A-Za-z]{{1,{MAX_ETAG}}}|\"[0-9A-Za-z]{{1,{MAX_ETAG}}}\")$") }),
        ),
        header(IF_NONE_MATCH, "`*`: the document must not be there.", json!({ "const": "*" })),
    ]
}

/// Adds `If-None-Match` and its answer to an operation that reads, and whose answer has an ETag.
pub(super) fn conditional(mut operation: Value) -> Value {
    let known = "The `ETag` of an answer that the client has: if it is still that, the answer is 304.";
    let known = header(IF_NONE_MATCH, known, json!({ "type": "string" }));
    if let Some(parameters) = operation["parameters"].as_array_mut() {
        parameters.push(known);
    }
    operation["responses"]["304"] = tagged(json!({ "description": "The client has the answer already" }));
    operation
}

pub(super) fn header(name: &str, description: &str, schema: Value) -> Value {
    json!({ "name": name, "in": "header", "description": description, "schema": schema })
}

pub(super) fn content(description: &str, schema: Value) -> Value {
    json!({ "description": description, "content": { "application/json": { "schema": schema } } })
}

/// Returns the schema of an object that has no other members than `properties`.
pub(super) fn object(required: &[&str], properties: Value) -> Value {
    json!({ "type": "object", "required": required, "additionalProperties": false, "properties": properties })
}

/// Returns the operation that lists all tools, or all workflows: `plural` is the member with the list, and the tag.
pub(super) fn list(plural: &str, schema: &str, most: usize) -> Value {
    let body = object(
        &["count", plural],
        json!({
            "count": { "type": "integer", "minimum": 0, "maximum": most },
            plural: { "type": "array", "items": reference(schema) },
        }),
    );
    let success = content(&format!("The {plural}"), body);
    json!({
        "operationId": format!("list_{plural}"),
        "description": format!("Lists the {plural}."),
        "tags": [plural],
        "responses": responses((StatusCode::OK, success), REFUSALS[..6].iter().copied()),
    })
}

pub(super) fn responses(
    (status, success): (StatusCode, Value),
    refusals: impl Iterator<Item = u16>,
) -> Value {
    let refusals = refusals.map(|status| {
        let status = status.to_string();
        let refusal = json!({ "$ref": format!("#/components/responses/{status}") });
        (status, refusal)
    });
    let success = (status.as_str().to_owned(), success);
    std::iter::once(success).chain(refusals).collect()
}

/// Returns the description of refusals with this status.
pub(super) fn refusal(status: u16) -> Value {
    let name = StatusCode::from_u16(status).ok();
    let name = name.and_then(|status| status.canonical_reason());
    let mut refusal = content(name.unwrap_or("Refused"), reference(ERROR));
    if matches!(status, 429 | 503) {
        refusal["headers"] = json!({ "Retry-After": {
            "description": "Seconds to wait.",
            "schema": { "type": "integer", "minimum": 0 },
        } });
    }
    refusal
}

/// Returns the schema of a refusal's body.
pub(super) fn error(contract: &ContractSpec) -> Value {
    let body = contract.error_body.unwrap_or(ErrorBody::USUAL);
    let unnamed = [400, 500].map(|status| contract.error_of(status).is_none());
    let unnamed = unnamed.contains(&true).then_some(UNNAMED);
    let names = contract.errors.iter().map(|error| error.name);
    let names: Vec<_> = names.chain(unnamed).collect();
    let violation = json!({
        "type": "object",
        "required": ["principle", "issue", "severity", "actionable", "clause"],
        "properties": {
            "principle": { "type": "string" },
            "issue": { "type": "string" },
            "severity": { "enum": Severity::ALL },
            "actionable": { "type": "string" },
            "clause": { "type": "string" },
        },
    });
    json!({
        "type": "object",
        "required": [body.at],
        "additionalProperties": false,
        "properties": { body.at: {
            "type": "object",
            "required": [body.code, body.message, body.details, body.violations],
            "additionalProperties": false,
            "properties": {
                body.code: { "enum": names },
                body.message: { "type": "string", "description": "What happened, and what to do." },
                body.details: { "type": "object" },
                body.violations: { "type": "array", "items": violation },
            },
        } },
    })
}
