//! The description of executions and sessions.

use http::StatusCode;
use serde_json::{Map, Value, json};

use super::parts::{
    REFUSALS, TOOL, conditional, content, error, header, object, reference, refusal, responses,
};
use crate::{
    calls::ExecutionStatus,
    spec::{ContractSpec, ErrorBody, RestEndpoint},
};

/// Header with the id of the session that a request belongs to.
pub const SESSION_HEADER: &str = "X-Session-Id";
/// Maximum number of seconds for which a request waits for an execution.
pub const MAX_WAIT_SECONDS: u64 = 60;
pub(super) const EXECUTION: &str = "Execution";
pub(super) const SESSION: &str = "Session";

/// Further refusal statuses of requests with a body.
const WITH_BODY: [u16; 3] = [408, 413, 415];

/// Returns the schema of an execution.
pub(super) fn execution(contract: &ContractSpec) -> Value {
    let error = error(contract);
    let body = contract.error_body.unwrap_or(ErrorBody::USUAL);
    object(
        &["execution_id", "tool", "status", "created_at"],
        json!({
            "execution_id": { "type": "string", "format": "uuid" },
            "session_id": { "type": "string", "format": "uuid" },
            "tool": { "type": "string", "description": "The tool, or what an endpoint calls." },
            "status": { "enum": ExecutionStatus::ALL },
            "result": { "type": "object", "description": "The tool's result, if it succeeded; kept for a time." },
            "error": error["properties"][body.at],
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

/// Returns the schema of a session.
pub(super) fn session() -> Value {
    let said = |first: &str| {
        json!({
            "type": "object",
            "additionalProperties": false,
            "properties": { first: { "type": "string" }, "version": { "type": "string" } },
        })
    };
    let time = json!({ "type": "string", "format": "date-time" });
    object(
        &[
            "session_id",
            "status",
            "authentication_method",
            "created_at",
            "last_activity_at",
            "expires_at",
            "max_expires_at",
        ],
        json!({
            "session_id": { "type": "string", "format": "uuid" },
            "status": { "const": "active" },
            "authentication_method": { "enum": ["api_key", "access_token", "local"] },
            "client_info": said("client_type"),
            "agent": said("name"),
            "created_at": time,
            "last_activity_at": time,
            "expires_at": { "type": "string", "format": "date-time", "description": "When it ends without a further call." },
            "max_expires_at": { "type": "string", "format": "date-time", "description": "When it ends at the latest." },
            "tools": { "type": "array", "items": reference(TOOL) },
        }),
    )
}

/// Returns the headers that a call of a tool may have in addition to those of changes.
pub(super) fn headers(contract: &ContractSpec) -> Vec<Value> {
    let mut headers = vec![];
    if contract.executions.is_some() {
        let description = "`respond-async` is answered at once, with the execution; `wait=S`, also with it, after S seconds at the latest.";
        headers.push(header("Prefer", description, json!({ "type": "string" })));
    }
    if contract.sessions.is_some() {
        let description = "The session that the call belongs to; without it, the caller's own.";
        headers.push(header(SESSION_HEADER, description, json!({ "type": "string", "format": "uuid" })));
    }
    headers
}

/// Returns the answer to a call that continues in the background.
pub(super) fn accepted() -> Value {
    let mut accepted = content("The execution, which goes on", reference(EXECUTION));
    accepted["headers"] = json!({ "Location": {
        "description": "Where the execution can be fetched.",
        "schema": { "type": "string" },
    } });
    accepted
}

/// Returns the operation that fetches an execution.
pub(super) fn get(endpoint: &RestEndpoint) -> Value {
    let mut operation = operation(
        "get_execution",
        "Returns an execution. `wait` says for how many seconds to wait for its end.",
        "executions",
        content("The execution", reference(EXECUTION)),
        [404, 422, 500],
    );
    let wait = json!({
        "name": "wait", "in": "query", "schema": { "type": "integer", "minimum": 0, "maximum": MAX_WAIT_SECONDS },
    });
    operation["parameters"] = variables(endpoint).chain([wait]).collect();
    operation
}

/// Returns the operation that cancels an execution.
pub(super) fn cancel(endpoint: &RestEndpoint) -> Value {
    let mut operation = operation(
        "cancel_execution",
        "Cancels an execution that has not changed anything yet, and returns it as it ended.",
        "executions",
        content("The execution", reference(EXECUTION)),
        [404, 409, 500],
    );
    operation["parameters"] = variables(endpoint).collect();
    operation
}

/// Returns the operation that opens a session.
pub(super) fn open() -> Value {
    let session = session();
    let statuses = WITH_BODY.into_iter().chain([422, 500]);
    let mut operation = operation(
        "open_session",
        "Opens a session, of which the calls are counted together.",
        "sessions",
        Value::Null,
        [],
    );
    let created = content("The session", reference(SESSION));
    operation["responses"] =
        responses((StatusCode::CREATED, created), REFUSALS[..6].iter().copied().chain(statuses));
    operation["requestBody"] = json!({
        "required": false,
        "content": { "application/json": { "schema": {
            "type": "object",
            "additionalProperties": false,
            "properties": {
                "client_info": session["properties"]["client_info"],
                "agent": session["properties"]["agent"],
            },
        } } },
    });
    operation
}

/// Returns the operation that renews a session.
pub(super) fn renew(endpoint: &RestEndpoint) -> Value {
    let mut operation = operation(
        "renew_session",
        "Counts as activity in the session.",
        "sessions",
        content("The session", reference(SESSION)),
        [500],
    );
    operation["parameters"] = variables(endpoint).collect();
    operation
}

/// Returns the operation that ends a session.
pub(super) fn end(endpoint: &RestEndpoint) -> Value {
    let ended = object(
        &["session_id", "status", "terminated_at"],
        json!({
            "session_id": { "type": "string", "format": "uuid" },
            "status": { "const": "terminated" },
            "terminated_at": { "type": "string", "format": "date-time" },
        }),
    );
    let mut operation = operation(
        "end_session",
        "Ends the session, and cancels its executions that have not changed anything yet.",
        "sessions",
        content("The session's end", ended),
        [500],
    );
    operation["parameters"] = variables(endpoint).collect();
    operation
}

/// Returns the operation that downloads a file.
pub(super) fn download(endpoint: &RestEndpoint) -> Value {
    let text = || json!({ "schema": { "type": "string" } });
    let file = |description: &str, headers: &[&str]| {
        let headers: Map<_, _> = headers.iter().map(|name| ((*name).to_owned(), text())).collect();
        json!({
            "description": description,
            "headers": headers,
            "content": { "*/*": {} },
        })
    };
    let said = ["Accept-Ranges", "Content-Disposition", "ETag", "Digest", "Repr-Digest", "Content-Range"];
    let mut answers = Map::new();
    answers.insert("200".into(), file("The file", &said[..5]));
    answers.insert("206".into(), file("The range that was asked for", &said));
    let refusals = [400, 403, 404, 405, 410, 416, 500, 503];
    answers.extend(refusals.map(|status| (status.to_string(), refusal(status))));
    let parameter = |place: &str, name: &str, required: bool| json!({ "name": name, "in": place, "required": required, "schema": { "type": "string" } });
    let signed = ["expires", "key", "signature"].map(|name| parameter("query", name, name != "key"));
    let ranges = ["Range", "If-Range"].map(|name| parameter("header", name, false));
    conditional(json!({
        "operationId": "download",
        "description": "Serves a file, whole or one range of it; `Content-Type` has its media type. The URL in a tool's answer is the only credential.",
        "tags": ["downloads"],
        "security": [{}],
        "parameters": variables(endpoint).chain(signed).chain(ranges).collect::<Vec<_>>(),
        "responses": answers,
    }))
}

fn operation<const N: usize>(
    id: &str,
    description: &str,
    tag: &str,
    success: Value,
    statuses: [u16; N],
) -> Value {
    let mut operation = Map::new();
    operation.insert("operationId".into(), id.into());
    operation.insert("description".into(), description.into());
    operation.insert("tags".into(), json!([tag]));
    let statuses = REFUSALS[..6].iter().copied().chain(statuses);
    operation.insert("responses".into(), responses((StatusCode::OK, success), statuses));
    operation.into()
}

/// Returns the variables of an endpoint's path, as parameters.
fn variables(endpoint: &RestEndpoint) -> impl Iterator<Item = Value> {
    endpoint.variable_names().map(|name| {
        json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string", "format": "uuid" } })
    })
}

/// Returns the header that names the session of a call, if the contract has sessions.
pub(super) fn session_header(contract: &ContractSpec) -> Option<Value> {
    let mut headers = headers(contract).into_iter();
    headers.find(|header| header["name"] == SESSION_HEADER)
}
