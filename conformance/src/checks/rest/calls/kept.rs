//! Requests to the endpoints of executions and sessions, and refusals of them.

use std::{
    thread::sleep,
    time::{Duration, Instant},
};

use tabellion_runtime::{
    ContractSpec,
    spec::{RestOperation, RoleSpec},
};

use crate::checks::{
    prelude::*,
    rest::{
        faces::{Faces, endpoint, method},
        outcome::{Refused, RestAnswer},
        program,
    },
};

/// An id that no execution and no session has.
pub(super) const UNKNOWN: &str = "01a21501-196d-70b2-84af-0eb2ce2cfa58";
/// The status of a request that exceeds a limit (RFC 6585, 4).
pub(super) const TOO_MANY: u16 = 429;
/// Interval at which the suite checks for the end of an execution.
const LOOK_INTERVAL: Duration = Duration::from_millis(25);

/// Returns the role of the caller: the one that may call the most.
pub(super) fn caller(bench: &Bench<'_>) -> Option<&'static str> {
    program::writer(bench).map(|role| role.name)
}

/// Returns the role of a second caller, who can't see the executions of the first. It is of the other kind: two persons may have the same
/// name, but an agent and a person are never the same caller.
///
/// # Errors
/// "Not applicable", if the contract has no such role.
pub(super) fn stranger(bench: &Bench<'_>) -> Result<&'static str, Stop> {
    let contract = bench.subject.contract;
    let kind = program::writer(bench).map(|role| role.kind);
    let sees = contract.endpoint(RestOperation::ExecutionGet);
    let sees = |role: &RoleSpec| sees.is_some_and(|endpoint| endpoint.others.contains(&role.name));
    let mut roles = contract.auth.map_or(&[][..], |auth| auth.roles).iter();
    let other = roles.find(|role| Some(role.kind) != kind && !sees(role));
    other
        .map(|role| role.name)
        .ok_or_else(|| not_applicable("the contract has no role of another kind than the caller's"))
}

/// Sends a request to an endpoint with these values of its variables: the caller's, or that of another role.
///
/// # Errors
/// If no response arrives, or the contract has no such endpoint.
pub(super) fn ask(
    faces: &Faces<'_, '_>,
    is: RestOperation,
    values: &[&str],
    by: Option<&str>,
) -> Result<RestAnswer, Stop> {
    let endpoint = endpoint(faces.bench, is)?;
    let (path, request) = (endpoint.path_with(values), faces.request(method(endpoint), None));
    match by {
        Some(role) => faces.send_as(role, &path, request),
        None => faces.send(&path, &request),
    }
}

/// Opens a session; returns its id.
pub(super) fn open(faces: &Faces<'_, '_>, by: Option<&str>) -> Result<String, Stop> {
    opened(&ask(faces, RestOperation::SessionCreate, &[], by)?)
}

/// Returns the id of a session that was opened.
pub(super) fn opened(answer: &RestAnswer) -> Result<String, Stop> {
    let id = answer.body["session_id"].as_str().filter(|_| answer.is_success());
    id.map(str::to_owned).ok_or_else(|| fail(format!("a session could not be opened: {}", answer.shown())))
}

/// Returns the caller's execution with this id, once it has ended.
pub(super) fn ended(faces: &Faces<'_, '_>, id: &str) -> Result<RestAnswer, Stop> {
    let until = Instant::now() + faces.bench.subject.launch.patience;
    loop {
        let answer = ask(faces, RestOperation::ExecutionGet, &[id], None)?;
        ensure(answer.status == 200, || {
            format!("the execution `{id}` of the caller was answered with {}", answer.shown())
        })?;
        let status = answer.body["status"].as_str().unwrap_or_default();
        if !["pending", "running"].contains(&status) {
            return Ok(answer);
        }
        ensure(Instant::now() < until, || format!("the execution `{id}` does not end: {}", answer.shown()))?;
        sleep(LOOK_INTERVAL);
    }
}

/// Fails unless an answer is a refusal with the status that the contract declares for its error; returns the refusal.
pub(super) fn refusal(contract: &ContractSpec, answer: &RestAnswer, what: &str) -> Result<Refused, Stop> {
    ensure(answer.status >= 400, || format!("{what} was answered with {}", answer.shown()))?;
    let refused = Refused::of_rest(contract, answer)?;
    let declared = refused.declared_status(contract);
    ensure(declared == Some(answer.status), || {
        format!("the contract declares another status for this error: {}", answer.shown())
    })?;
    Ok(refused)
}

/// Fails unless an answer refuses a request that exceeds a limit.
pub(super) fn ensure_too_many(contract: &ContractSpec, answer: &RestAnswer, what: &str) -> Judgement {
    refusal(contract, answer, what)?;
    ensure(answer.status == TOO_MANY, || {
        format!("{what} should be refused with {TOO_MANY}: {}", answer.shown())
    })
}

/// Returns the number of seconds in `Retry-After`.
///
/// # Errors
/// The failure, if there is none, or it is zero.
pub(super) fn retry_after(answer: &RestAnswer) -> Result<u64, Stop> {
    let header = answer.header("Retry-After");
    let seconds = header.and_then(|header| header.parse().ok());
    seconds.filter(|seconds| *seconds > 0).ok_or_else(|| {
        fail(format!(
            "`Retry-After` should be a number of seconds, and is {}: {}",
            header.map_or_else(|| "missing".to_owned(), |header| format!("`{header}`")),
            answer.shown()
        ))
    })
}
