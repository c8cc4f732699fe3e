//! Makes a response of HTTP of an answer of MCP.

use std::time::{Duration, SystemTime};

use chrono::{DateTime, SecondsFormat, Utc};
use hyper::{
    Response, StatusCode,
    header::{CONTENT_TYPE, ETAG, HeaderName, HeaderValue, RETRY_AFTER},
};
use rmcp::model::ErrorCode;
use serde_json::{Map, Value, json};
use tabellion_runtime::{
    Contract, ContractSpec, ErrorAnswer, Failure, FailureKind,
    auth::REASON,
    calls::{EXECUTION, Execution, ExecutionStatus, SESSION},
    context::{BASE, CHANGE, COMMIT, GATES},
    gates::Report,
    openapi::UNNAMED,
    rates,
};

use crate::{render, request_origin, shared, streamable::Body};

/// Member of an execution: what its tool's gates said.
const COMPLIANCE: &str = "constitutional_compliance";
/// The reason of an execution whose server has ended.
const INTERRUPTED: &str = "interrupted";

/// Returns the response to a call, from the text of its answer.
pub(super) fn execution(
    contract: &'static ContractSpec,
    tool: &str,
    begun: SystemTime,
    answer: &[u8],
) -> Response<Body> {
    let CallResult { value, meta } = match result(contract, answer) {
        Ok(result) => result,
        Err(refusal) => return *refusal,
    };
    let etag = etag(&meta);
    let ended = SystemTime::now();
    let mut execution = json!({
        "tool": tool,
        "status": "success",
        "result": value,
        "execution_time_ms": milliseconds(begun, ended),
        "created_at": written(begun),
        "completed_at": written(ended),
    });
    say(&mut execution, meta);
    let mut response = json(StatusCode::OK, &execution);
    response.headers_mut().extend(etag);
    response
}

/// Adds what else was said of an answer, by `_meta` key, to its execution.
fn say(execution: &mut Value, mut meta: Map<String, Value>) {
    meta.remove(shared::SERVER_INFO);
    for (member, key) in [
        ("execution_id", EXECUTION),
        ("session_id", SESSION),
        ("commit", COMMIT),
        ("change", CHANGE),
        (COMPLIANCE, GATES),
    ] {
        if let Some(value) = meta.remove(key) {
            execution[member] = value;
        }
    }
    if !meta.is_empty() {
        execution["meta"] = meta.into();
    }
}

/// Returns a recorded execution.
pub(super) fn recorded(contract: &dyn Contract, found: Execution) -> Value {
    let Execution {
        id,
        tool,
        session,
        created_at,
        completed_at,
        end,
        ..
    } = found;
    let mut execution = json!({
        "execution_id": id,
        "tool": &tool,
        "status": end.status,
        "created_at": written(created_at.into()),
    });
    if let Some(session) = session {
        execution["session_id"] = session.into();
    }
    if let Some(ended) = completed_at {
        execution["execution_time_ms"] = milliseconds(created_at.into(), ended.into()).into();
        execution["completed_at"] = written(ended.into()).into();
    }
    if let Some(result) = end.result {
        execution["result"] = result;
    }
    if let Some(commit) = end.commit {
        execution["commit"] = commit.into();
    }
    if let Some(Value::Object(meta)) = end.meta {
        say(&mut execution, meta);
    }
    let is_failed = end.status == ExecutionStatus::Failed;
    if is_failed && execution.get(COMPLIANCE).is_none() && has_gates(contract.spec(), &tool) {
        // It was refused before its gates were asked, or its server has ended.
        execution[COMPLIANCE] = Report::default().to_value();
        execution[COMPLIANCE]["approved"] = false.into();
    }
    if is_failed || end.error.is_some() {
        execution["error"] = end.error.unwrap_or_else(|| {
            // The server that ran it has ended.
            let message = "the server ended before the call had changed anything; make it again";
            let failure = Failure::new(FailureKind::Io, message).with(REASON, INTERRUPTED);
            let error = contract.error_for(failure);
            contract.spec().error_object(&error).unwrap_or_default()
        });
    }
    execution
}

fn has_gates(contract: &ContractSpec, tool: &str) -> bool {
    let mut operations = contract.tools.iter().flat_map(|spec| spec.operations());
    operations.any(|spec| spec.label() == tool && !spec.gates.is_empty())
}

/// Returns the response for a failure that is no error of a tool.
pub(super) fn failed(contract: &dyn Contract, failure: Failure) -> Response<Body> {
    declared(contract.spec(), &contract.error_for(failure))
}

/// Returns the response for an error of the contract.
pub(super) fn declared(contract: &'static ContractSpec, error: &ErrorAnswer) -> Response<Body> {
    with_status(contract, error, StatusCode::INTERNAL_SERVER_ERROR)
}

/// Returns the response for an error of the contract, with `fallback` for a status if the contract does not say one.
fn with_status(contract: &'static ContractSpec, error: &ErrorAnswer, fallback: StatusCode) -> Response<Body> {
    let status = contract
        .status(error)
        .and_then(|it| StatusCode::from_u16(it).ok());
    let response = json(status.unwrap_or(fallback), &contract.rest_body(error));
    with_retry_after(response, &error.data)
}

/// Adds the time to wait that the details of an error say, if they say one.
fn with_retry_after(mut response: Response<Body>, details: &Map<String, Value>) -> Response<Body> {
    let seconds = details.get(rates::RETRY_AFTER).and_then(Value::as_u64);
    if let Some(seconds) = seconds {
        response.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    response
}

/// Returns the response to a call that answers with its result alone, from the text of its answer.
pub(super) fn plain(contract: &'static ContractSpec, status: StatusCode, answer: &[u8]) -> Response<Body> {
    match result(contract, answer) {
        Ok(CallResult { value, meta }) => {
            let mut response = json(status, &value);
            response.headers_mut().extend(etag(&meta));
            response
        }
        Err(refusal) => *refusal,
    }
}

/// Returns the header that names the content that a document has.
fn etag(meta: &Map<String, Value>) -> Option<(HeaderName, HeaderValue)> {
    let id = meta.get(BASE)?.as_str()?;
    Some((ETAG, HeaderValue::from_str(&format!("\"{id}\"")).ok()?))
}

/// The structured result of a call, and its `_meta`.
struct CallResult {
    value: Value,
    meta: Map<String, Value>,
}

/// Returns the result that an answer has; the response, if it is an error.
fn result(contract: &'static ContractSpec, answer: &[u8]) -> Result<CallResult, Box<Response<Body>>> {
    let mut answer: Value = serde_json::from_slice(answer).unwrap_or_default();
    if answer.get("error").is_some() {
        return Err(error(contract, answer["error"].take()).into());
    }
    let mut result = answer["result"].take();
    let mut meta = match result["_meta"].take() {
        Value::Object(meta) => meta,
        _ => Map::new(),
    };
    if let Some(data) = meta.remove(render::ERROR) {
        let message = result["content"][0]["text"].take();
        let code = data["code"].clone();
        let named = json!({ "code": code, "message": message, "data": data["data"], "name": data["name"] });
        return Err(error(contract, named).into());
    }
    if !result["structuredContent"].is_object() {
        let why = "a person must approve this call, who can't be asked over REST: make it over MCP";
        return Err(refused(contract, StatusCode::CONFLICT, why, Map::new()).into());
    }
    let value = result["structuredContent"].take();
    Ok(CallResult { value, meta })
}

/// Returns the response for an error of JSON-RPC, or one that has a name beside.
fn error(contract: &'static ContractSpec, error: Value) -> Response<Body> {
    let code = error["code"].as_i64().and_then(|code| i32::try_from(code).ok());
    let code = code.unwrap_or(ErrorCode::INTERNAL_ERROR.0);
    let message = error["message"].as_str().unwrap_or_default().to_owned();
    let data = error["data"].as_object().cloned().unwrap_or_default();
    let named = error["name"].as_str();
    let declared = contract.errors.iter().find(|declared| match named {
        Some(name) => declared.name == name,
        None => declared.code == code,
    });
    // Contracts know what of theirs is refused; what is refused before has the codes of JSON-RPC and of HTTP.
    let fallback = match ErrorCode(code) {
        request_origin::FORBIDDEN => StatusCode::FORBIDDEN,
        request_origin::TOO_MANY => StatusCode::TOO_MANY_REQUESTS,
        ErrorCode::INVALID_PARAMS | ErrorCode::INVALID_REQUEST => StatusCode::UNPROCESSABLE_ENTITY,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    let Some(declared) = declared else {
        let response = refused(contract, fallback, &message, data.clone());
        return with_retry_after(response, &data);
    };
    let error = ErrorAnswer {
        name: declared.name,
        code,
        message,
        data,
    };
    with_status(contract, &error, fallback)
}

/// Returns the response for a request that is no call.
pub(super) fn refused(
    contract: &'static ContractSpec,
    status: StatusCode,
    why: &str,
    details: Map<String, Value>,
) -> Response<Body> {
    let error = contract.error_of(status.as_u16());
    let answer = ErrorAnswer {
        name: error.map_or(UNNAMED, |error| error.name),
        code: error.map_or(ErrorCode::INVALID_REQUEST.0, |error| error.code),
        message: why.to_owned(),
        data: details,
    };
    json(status, &contract.rest_body(&answer))
}

/// Returns a response of JSON.
pub(super) fn json(status: StatusCode, body: &Value) -> Response<Body> {
    let mut response = Response::new(Body::whole(body.to_string()));
    *response.status_mut() = status;
    let media = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, media);
    response
}

fn milliseconds(begun: SystemTime, ended: SystemTime) -> u64 {
    let duration = ended.duration_since(begun).unwrap_or(Duration::ZERO);
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

pub(super) fn written(time: SystemTime) -> String {
    DateTime::<Utc>::from(time).to_rfc3339_opts(SecondsFormat::Millis, true)
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;

    use super::*;
    use crate::testing::{NOTES, RPC};

    /// Errors of JSON-RPC, as contracts with that channel and everything before contracts send them.
    #[tokio::test]
    async fn errors_of_json_rpc_have_a_status_and_the_usual_form() {
        for (contract, error, status, name, retry) in [
            (
                &RPC,
                json!({ "code": -32001, "message": "no such note", "data": { "path": "x" } }),
                404,
                "NOT_FOUND",
                None,
            ),
            (
                &RPC,
                json!({ "code": -32602, "message": "wrong" }),
                422,
                "INVALID_REQUEST",
                None,
            ),
            (
                &RPC,
                json!({ "code": -32005, "message": "often", "data": { "retryAfterSeconds": 7 } }),
                429,
                "TOO_OFTEN",
                Some("7"),
            ),
            (
                &RPC,
                json!({ "code": 429, "message": "often", "data": { "retryAfterSeconds": 7 } }),
                429,
                "TOO_OFTEN",
                Some("7"),
            ),
            (
                &NOTES,
                json!({ "code": 429, "message": "often", "data": { "retryAfterSeconds": 7 } }),
                429,
                "TOO_OFTEN",
                Some("7"),
            ),
            (
                &NOTES,
                json!({ "code": 403, "message": "no", "data": { "scope": "write" } }),
                403,
                "INVALID_REQUEST",
                None,
            ),
            (
                &NOTES,
                json!({ "code": -32603, "message": "it failed" }),
                500,
                UNNAMED,
                None,
            ),
            (&NOTES, json!({}), 500, UNNAMED, None),
        ] {
            let text = json!({ "jsonrpc": "2.0", "id": 0, "error": error }).to_string();
            let response = execution(contract, "echo", SystemTime::now(), text.as_bytes());
            assert_eq!(response.status(), status, "{error}");
            let header = response
                .headers()
                .get(RETRY_AFTER)
                .map(|value| value.to_str().unwrap());
            assert_eq!(header, retry, "{error}");
            let body = response.into_body().collect().await.unwrap().to_bytes();
            let body: Value = serde_json::from_slice(&body).unwrap();
            assert_eq!(body["error"]["code"], name, "{body}");
            assert_eq!(
                body["error"]["message"],
                error.get("message").cloned().unwrap_or(json!(""))
            );
        }
    }

    #[test]
    fn a_question_to_a_person_can_not_be_asked() {
        let text = json!({ "result": { "resultType": "input_required", "inputRequests": {} } }).to_string();
        let response = execution(&NOTES, "keep", SystemTime::now(), text.as_bytes());
        assert_eq!(response.status(), StatusCode::CONFLICT);
    }
}
