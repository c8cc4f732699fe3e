//! HTTP responses to the outcomes of calls.

use std::time::{Duration, SystemTime};

use chrono::{DateTime, SecondsFormat, Utc};
use hyper::{
    Response, StatusCode,
    body::Bytes,
    header::{CONTENT_TYPE, ETAG, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE},
};
use serde_json::{Map, Value, json};
use tabellion_gateway::{CallError, INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST};
use tabellion_runtime::{
    Answer, Contract, ContractSpec, ErrorAnswer, Failure, FailureKind,
    auth::REASON,
    calls::{EXECUTION, Execution, ExecutionStatus, SESSION},
    context::{BASE, CHANGE, COMMIT, GATES},
    gates::Report,
    openapi::UNNAMED,
    rates,
    schema::nearest,
    spec::{RETRY_AFTER_SECONDS, usual_reason},
};

use crate::refusal::Refusal;

/// The reason of an execution whose server has ended.
const INTERRUPTED: &str = "interrupted";

/// Maximum number of characters of a name that an error repeats.
const MAX_NAME_CHARS: usize = 100;

/// Returns the response to a call of a tool.
pub(super) fn execution(
    contract: &'static ContractSpec,
    tool: &str,
    begun: SystemTime,
    outcome: Result<Answer, CallError>,
) -> Response<Bytes> {
    let Answer { response: value, meta } = match outcome {
        Ok(answer) => answer,
        Err(error) => return self::error(contract, error),
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
    say(contract, &mut execution, meta);
    let mut response = json(StatusCode::OK, &execution);
    response.headers_mut().extend(etag);
    response
}

/// Moves an answer's `_meta` values into its execution, under the members' names.
fn say(contract: &ContractSpec, execution: &mut Value, mut meta: Map<String, Value>) {
    for (member, key) in [
        ("execution_id", EXECUTION),
        ("session_id", SESSION),
        ("commit", COMMIT),
        ("change", CHANGE),
        (contract.gate_members.verdict, GATES),
    ] {
        if let Some(value) = meta.remove(key) {
            execution[member] = value;
        }
    }
    if !meta.is_empty() {
        execution["meta"] = meta.into();
    }
}

/// Returns the JSON of a recorded execution.
pub(super) fn recorded(contract: &dyn Contract, found: Execution) -> Value {
    let Execution { id, tool, session, created_at, completed_at, end, .. } = found;
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
        say(contract.spec(), &mut execution, meta);
    }
    let verdict = contract.spec().gate_members.verdict;
    let is_failed = end.status == ExecutionStatus::Failed;
    if is_failed && execution.get(verdict).is_none() && has_gates(contract.spec(), &tool) {
        // It was refused before the gates were evaluated, or its server has ended.
        execution[verdict] = Report::default().to_value();
        execution[verdict]["approved"] = false.into();
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

/// Returns the response for a failure that is not a tool's error.
pub(super) fn failed(contract: &dyn Contract, failure: Failure) -> Response<Bytes> {
    declared(contract.spec(), &contract.error_for(failure))
}

pub(super) fn declared(contract: &'static ContractSpec, error: &ErrorAnswer) -> Response<Bytes> {
    with_status(contract, error, StatusCode::INTERNAL_SERVER_ERROR)
}

/// Returns the response for an error of the contract, with `fallback` as the status if the contract declares none.
fn with_status(
    contract: &'static ContractSpec,
    error: &ErrorAnswer,
    fallback: StatusCode,
) -> Response<Bytes> {
    let status = contract.status(error).and_then(|it| StatusCode::from_u16(it).ok());
    let response = json(status.unwrap_or(fallback), &contract.rest_body(error));
    with_retry_after(response, &contract.details(error))
}

/// Adds the `Retry-After` of an error's details, if they contain one.
fn with_retry_after(mut response: Response<Bytes>, details: &Map<String, Value>) -> Response<Bytes> {
    let seconds =
        [RETRY_AFTER_SECONDS, rates::RETRY_AFTER].iter().find_map(|name| details.get(*name)?.as_u64());
    if let Some(seconds) = seconds {
        response.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    response
}

/// Returns the response to a call whose answer is only its result.
pub(super) fn plain(
    contract: &'static ContractSpec,
    status: StatusCode,
    outcome: Result<Answer, CallError>,
) -> Response<Bytes> {
    match outcome {
        Ok(answer) => {
            let mut response = json(status, &answer.response);
            response.headers_mut().extend(etag(&answer.meta));
            response
        }
        Err(error) => self::error(contract, error),
    }
}

/// Returns the header with the content id of a document.
fn etag(meta: &Map<String, Value>) -> Option<(HeaderName, HeaderValue)> {
    let id = meta.get(BASE)?.as_str()?;
    Some((ETAG, HeaderValue::from_str(&format!("\"{id}\"")).ok()?))
}

/// Returns the response for a call without an answer.
fn error(contract: &'static ContractSpec, error: CallError) -> Response<Bytes> {
    let (name, code, message, data) = match error {
        CallError::Declared(error) => (Some(error.name), error.code, error.message, error.data),
        CallError::NotOffered { message } => (None, INVALID_PARAMS, message, Map::new()),
        CallError::Internal { data } => (None, INTERNAL_ERROR, CallError::INTERNAL.into(), data),
        CallError::Forbidden { message, data } => {
            let challenge = CallError::challenge(&data.clone().into());
            let challenge = challenge.and_then(|it| HeaderValue::from_str(&it).ok());
            let mut response = refused(contract, StatusCode::FORBIDDEN, &message, data);
            response.headers_mut().extend(challenge.map(|it| (WWW_AUTHENTICATE, it)));
            return response;
        }
        CallError::TooMany { limit, seconds } => {
            let data = CallError::too_many_details(limit, seconds);
            let (status, message) = (StatusCode::TOO_MANY_REQUESTS, CallError::too_many(seconds));
            return with_retry_after(refused(contract, status, &message, data.clone()), &data);
        }
        CallError::Approval(_) => {
            let why = "a person must approve this call, who can't be asked over REST: make it over MCP";
            let reason = Map::from_iter([(REASON.to_owned(), "approval".into())]);
            return refused(contract, StatusCode::CONFLICT, why, reason);
        }
    };
    let fallback = match code {
        INVALID_PARAMS | INVALID_REQUEST => StatusCode::UNPROCESSABLE_ENTITY,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    let declared = contract.errors.iter().find(|declared| match name {
        Some(name) => declared.name == name,
        None => declared.code == code,
    });
    let Some(declared) = declared else {
        let response = refused(contract, fallback, &message, data.clone());
        return with_retry_after(response, &data);
    };
    let error = ErrorAnswer { name: declared.name, code, message, data };
    with_status(contract, &error, fallback)
}

/// Returns the body of the response to a refused request.
pub(super) fn refusal(contract: &'static ContractSpec, refusal: &Refusal) -> Value {
    let reason = refusal.reason.map(|reason| (REASON.to_owned(), reason.into()));
    let mut headers = refusal.headers.iter();
    let wait = headers.find_map(|(name, value)| (name == RETRY_AFTER).then_some(value));
    let seconds = wait.and_then(|wait| wait.to_str().ok()?.parse::<u64>().ok());
    let seconds = seconds.map(|seconds| (rates::RETRY_AFTER.to_owned(), seconds.into()));
    let limit = refusal.limit.map(|limit| (rates::LIMIT.to_owned(), limit.into()));
    let details = reason.into_iter().chain(limit).chain(seconds).collect();
    body(contract, refusal.status, &refusal.message, details)
}

/// Returns the response to a call of a tool that is not offered.
pub(super) fn no_tool(contract: &'static ContractSpec, name: &str) -> Response<Bytes> {
    let names: Vec<_> = contract.tools.iter().map(|tool| tool.name).collect();
    let why = format!("there is no such tool; there are {}", names.join(", "));
    let name: String = name.chars().take(MAX_NAME_CHARS).collect();
    let near = nearest(&name, names.into_iter());
    let details = [("tool", Some(name.as_str())), ("near", near)].into_iter();
    let details = details.filter_map(|(member, name)| Some((member.to_owned(), name?.into())));
    refused(contract, StatusCode::NOT_FOUND, &why, details.collect())
}

/// Returns the response to a call that was refused before the contract was called.
fn refused(
    contract: &'static ContractSpec,
    status: StatusCode,
    why: &str,
    details: Map<String, Value>,
) -> Response<Bytes> {
    json(status, &body(contract, status, why, details))
}

fn body(
    contract: &'static ContractSpec,
    status: StatusCode,
    why: &str,
    mut details: Map<String, Value>,
) -> Value {
    if let Some(reason) = usual_reason(status.as_u16()) {
        details.entry(REASON).or_insert_with(|| reason.into());
    }
    let error = contract.error_of(status.as_u16());
    contract.rest_body(&ErrorAnswer {
        name: error.map_or(UNNAMED, |error| error.name),
        code: error.map_or(INVALID_REQUEST, |error| error.code),
        message: why.to_owned(),
        data: details,
    })
}

pub(super) fn json(status: StatusCode, body: &Value) -> Response<Bytes> {
    let mut response = Response::new(body.to_string().into());
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
    use tabellion_gateway::{
        Access,
        testing::{NOTES, RPC},
    };

    use super::*;

    fn declared(name: &'static str, code: i32, data: Value) -> CallError {
        CallError::Declared(ErrorAnswer {
            name,
            code,
            message: "it says why".into(),
            data: data.as_object().cloned().unwrap_or_default(),
        })
    }

    #[test]
    fn errors_have_a_status_and_the_usual_form() {
        let too_many = || CallError::TooMany { limit: Access::Read, seconds: 7 };
        for (contract, error, status, name, retry) in [
            (&RPC, declared("NOT_FOUND", -32001, json!({ "path": "x" })), 404, "NOT_FOUND", None),
            (&RPC, CallError::NotOffered { message: "wrong".into() }, 422, "INVALID_REQUEST", None),
            (
                &RPC,
                declared("TOO_OFTEN", -32005, json!({ "retryAfterSeconds": 7 })),
                429,
                "TOO_OFTEN",
                Some("7"),
            ),
            (&RPC, too_many(), 429, "TOO_OFTEN", Some("7")),
            (&NOTES, too_many(), 429, "TOO_OFTEN", Some("7")),
            (
                &NOTES,
                CallError::Forbidden { message: "no".into(), data: Map::new() },
                403,
                "INVALID_REQUEST",
                None,
            ),
            (&NOTES, CallError::Internal { data: Map::new() }, 500, UNNAMED, None),
        ] {
            let case = format!("{error:?}");
            let response = execution(contract, "echo", SystemTime::now(), Err(error));
            assert_eq!(response.status(), status, "{case}");
            let header = response.headers().get(RETRY_AFTER).map(|value| value.to_str().unwrap());
            assert_eq!(header, retry, "{case}");
            let body: Value = serde_json::from_slice(response.body()).unwrap();
            assert_eq!(body["error"]["code"], name, "{body}");
        }
    }

    #[test]
    fn a_refused_request_names_its_limit_and_an_unknown_tool_the_nearest() {
        let details = |response: Response<Bytes>| {
            let body: Value = serde_json::from_slice(response.body()).unwrap();
            body["error"]["details"].clone()
        };
        let too_many = execution(
            &NOTES,
            "echo",
            SystemTime::now(),
            Err(CallError::TooMany { limit: Access::Read, seconds: 7 }),
        );
        assert_eq!(details(too_many), json!({ "limit": "read", "retryAfterSeconds": 7, "reason": "rate" }));
        for (name, near) in [("ecko", json!("echo")), ("zzzzzzzz", Value::Null)] {
            let found = details(no_tool(&NOTES, name));
            assert_eq!(
                (&found["tool"], found.get("near").cloned().unwrap_or_default()),
                (&json!(name), near)
            );
        }
    }
}
