//! The endpoints of a contract as an OpenAPI 3.1 document.
//!
//! Schemas are the contract's, which OpenAPI 3.1 accepts unchanged: for requests, with the enforced rules. Each tool has a path of its own,
//! with its own request and result.

mod calls;
mod parts;
mod workflows;

use std::collections::BTreeSet;

use http::StatusCode;
use serde_json::{Map, Value, json};

use self::parts::{
    ERROR, REFUSALS, TOOL, conditions, content, error, list, object, reference, refusal, refusals_of,
    relocate, responses, tagged,
};
pub use self::{
    calls::{MAX_WAIT_SECONDS, SESSION_HEADER},
    parts::{MAX_ETAG, UNNAMED},
    workflows::success_of,
};
use crate::spec::{ContractSpec, RateLimitPer, RestEndpoint, RestOperation, ToolSpec};

const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// The URL at which a server serves contracts, unless its operator sets a different one.
pub const USUAL_URL: &str = "/mcp";

/// Returns the description of all endpoints at the usual URL, as text for people: the content of generated files.
pub fn text(contract: &ContractSpec) -> String {
    format!("{:#}\n", document(contract, USUAL_URL, &|_| true))
}

/// Returns the description of the endpoints that a contract declares, for the offered ones of its tools. Clients know the path at which the
/// contract is served as `url`.
pub fn document(contract: &ContractSpec, url: &str, is_offered: &dyn Fn(&str) -> bool) -> Value {
    let mut schemas = Map::new();
    schemas.insert(ERROR.into(), error(contract));
    let mut paths: Map<String, Value> = Map::new();
    for endpoint in contract.rest {
        let method = endpoint.method.to_string().to_lowercase();
        // Endpoints with different methods may share a path.
        let mut add = |path: String, operation: Value| {
            let at = paths.entry(path).or_insert_with(|| json!({}));
            at[&method] = operation;
        };
        match endpoint.is {
            RestOperation::ToolExecute => {
                for tool in contract.tools.iter().filter(|tool| is_offered(tool.name)) {
                    schemas.insert(of_request(tool), placed(&of_request(tool), tool.input.enforced()));
                    schemas.insert(of_result(tool), placed(&of_result(tool), tool.output.wire()));
                    schemas.insert(of_execution(tool), execution(contract, tool));
                    add(endpoint.path_with(&[tool.name]), execute(contract, tool));
                }
            }
            RestOperation::ToolList => {
                schemas.insert(TOOL.into(), listed(contract));
                add(endpoint.path.into(), list("tools", TOOL, contract.tools.len()));
            }
            RestOperation::ExecutionGet => add(endpoint.path.into(), calls::get(endpoint)),
            RestOperation::ExecutionCancel => add(endpoint.path.into(), calls::cancel(endpoint)),
            RestOperation::SessionCreate => add(endpoint.path.into(), calls::open()),
            RestOperation::SessionRenew => add(endpoint.path.into(), calls::renew(endpoint)),
            RestOperation::SessionEnd => add(endpoint.path.into(), calls::end(endpoint)),
            RestOperation::Download => add(endpoint.path.into(), calls::download(endpoint)),
            RestOperation::OpenApi => {
                add(endpoint.path.into(), description(endpoint));
            }
            RestOperation::WorkflowList
            | RestOperation::WorkflowStart
            | RestOperation::InstanceGet
            | RestOperation::InstanceList
            | RestOperation::TaskComplete => {
                for (path, operation) in workflows::operations(contract, endpoint, is_offered, &mut schemas) {
                    add(path, operation);
                }
            }
        }
    }
    if contract.executions.is_some() {
        schemas.insert(calls::EXECUTION.into(), calls::execution(contract));
    }
    if contract.sessions.is_some() {
        schemas.insert(calls::SESSION.into(), calls::session());
    }
    let declared = contract.statuses.iter().map(|it| it.status);
    let refusals: BTreeSet<_> = REFUSALS.into_iter().chain(declared).collect();
    let refusals: Map<_, _> =
        refusals.into_iter().map(|status| (status.to_string(), refusal(status))).collect();
    let mut document = json!({
        "openapi": "3.1.0",
        "info": { "title": contract.title, "version": contract.version },
        "jsonSchemaDialect": DIALECT,
        "servers": [{ "url": if url.is_empty() { "/" } else { url } }],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "responses": refusals,
            "securitySchemes": {
                "bearer": { "type": "http", "scheme": "bearer", "description": "An API key or an access token." },
            },
        },
    });
    // Without roles, the operator decides whether callers must be known.
    let unknown = contract.auth.is_none().then(|| json!({}));
    let known = json!({ "bearer": [] });
    document["security"] = unknown.into_iter().chain([known]).collect();
    document
}

fn of_request(tool: &ToolSpec) -> String {
    format!("{}_request", tool.name)
}

fn of_result(tool: &ToolSpec) -> String {
    format!("{}_result", tool.name)
}

fn of_execution(tool: &ToolSpec) -> String {
    format!("{}_execution", tool.name)
}

/// Returns a schema for the place `name` in the document: its internal references are relocated to it.
fn placed(name: &str, mut schema: Value) -> Value {
    relocate(&mut schema, &format!("#/components/schemas/{name}"));
    if let Some(schema) = schema.as_object_mut() {
        schema.shift_remove("$schema");
    }
    schema
}

/// Returns the schema of a successful call of a tool.
fn execution(contract: &ContractSpec, tool: &ToolSpec) -> Value {
    object(
        &["tool", "status", "result", "execution_time_ms", "created_at", "completed_at"],
        json!({
            "execution_id": { "type": "string", "format": "uuid", "description": "Id under which it is recorded." },
            "session_id": { "type": "string", "format": "uuid", "description": "The session that it was counted in." },
            "tool": { "const": tool.name },
            "status": { "const": "success" },
            "result": reference(&of_result(tool)),
            "commit": { "type": "string", "description": "Id of the commit that was made." },
            "change": { "type": "string", "description": "Id of the change of rows that was made." },
            (contract.gate_members.verdict): { "type": "object", "description": "What the tool's gates said." },
            "meta": { "type": "object", "description": "What else the server says of the answer." },
            "execution_time_ms": { "type": "integer", "minimum": 0 },
            "created_at": { "type": "string", "format": "date-time" },
            "completed_at": { "type": "string", "format": "date-time" },
        }),
    )
}

/// Returns the operation that calls a tool.
fn execute(contract: &ContractSpec, tool: &'static ToolSpec) -> Value {
    let success = tagged(content("The tool's result", reference(&of_execution(tool))));
    let mut operation = json!({
        "operationId": tool.name,
        "description": tool.description,
        "tags": if tool.tags.is_empty() { json!(["tools"]) } else { json!(tool.tags) },
        "requestBody": { "required": true, "content": { "application/json": { "schema": reference(&of_request(tool)) } } },
        "responses": responses((StatusCode::OK, success), refusals_of(contract, tool).into_iter()),
    });
    if contract.executions.is_some() {
        operation["responses"]["202"] = calls::accepted();
    }
    let mut parameters = calls::headers(contract);
    if tool.operations().iter().any(|operation| operation.mutating) {
        parameters.extend(conditions());
    }
    if !parameters.is_empty() {
        operation["parameters"] = parameters.into();
    }
    operation
}

fn description(endpoint: &RestEndpoint) -> Value {
    json!({
        "operationId": "openapi",
        "description": format!("Describes the endpoints. `{}` needs no credentials.", endpoint.path),
        "tags": ["description"],
        "security": [{}],
        "responses": responses((StatusCode::OK, content("This document", json!({ "type": "object" }))), REFUSALS[..3].iter().copied()),
    })
}

fn listed(contract: &ContractSpec) -> Value {
    let limit = json!({
        "type": ["object", "null"],
        "required": ["limit", "requests", "seconds", "per"],
        "properties": {
            "limit": { "type": "string" },
            "requests": { "type": "integer", "minimum": 1 },
            "seconds": { "type": "integer", "minimum": 1 },
            "per": { "enum": RateLimitPer::ALL },
        },
    });
    json!({
        "type": "object",
        "required": ["name", "description", "annotations", "rate_limit", "input_schema", "output_schema"],
        "properties": {
            "name": { "type": "string" },
            "description": { "type": "string" },
            "annotations": { "type": "object" },
            "tags": { "type": "array", "items": { "type": "string" } },
            (contract.gate_members.gates): { "type": "array", "items": { "type": "string" } },
            "requires_auth": { "type": "boolean" },
            "rate_limit": limit,
            "input_schema": { "type": "object" },
            "output_schema": { "type": "object" },
        },
    })
}
