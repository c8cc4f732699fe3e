//! A request's way to a handler and back.
//!
//! Reading: validate → decode → call → encode → validate. Mutating: the same between [`Store::begin`] and
//! [`Session::publish`](crate::Session::publish), with the commit prepared before the answer is made, so that an
//! answer that breaks its schema has written nothing and the commit that an answer names is the one that was made.

use std::{future::Future, pin::Pin};

use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use crate::{
    call::{BASE, CallContext, Notes, REPLAYED, ReadCx, Receipt, Staged, WriteCx},
    failure::{ContractError, ErrorAnswer, Failure, FailureKind},
    shape::Violation,
    spec::{ContractSpec, ToolSpec},
    store::{Entry, Setback, Snapshot, Store},
};

/// A future on the heap.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A reading tool's method on an implementation `S`, its future on the heap.
pub type ReadingMethod<S, Request, Response, Error> =
    for<'c> fn(&'c S, &'c ReadCx<'c>, Request) -> BoxFuture<'c, Result<Response, Error>>;

/// A mutating tool's method on an implementation `S`, its future on the heap.
pub type MutatingMethod<S, Request, Response, Error> =
    for<'c> fn(&'c S, &'c WriteCx<'c>, Request) -> BoxFuture<'c, Result<Staged<Response>, Error>>;

/// How often a change is planned anew when somebody else was faster.
pub const ATTEMPTS: u32 = 10;

/// Any contract with an implementation behind it. Generated code implements it as `Service`.
pub trait Contract: Send + Sync {
    /// The contract.
    fn spec(&self) -> &'static ContractSpec;

    /// Calls a tool.
    fn call<'a>(
        &'a self,
        call: &'a CallContext,
        tool: &'a str,
        arguments: Value,
    ) -> BoxFuture<'a, Result<Answer, Rejection>>;
}

/// What a tool answers.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The response, valid against the tool's output schema.
    pub response: Value,
    /// What belongs into the result's `_meta`.
    pub meta: Map<String, Value>,
}

/// Why a tool does not answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Rejection {
    /// The contract has no such tool.
    UnknownTool,
    /// An error that the contract declares.
    Declared(ErrorAnswer),
    /// The implementation broke the contract. Nothing was written.
    Breach {
        /// The tool's name.
        tool: &'static str,
        /// How it was broken, for the log.
        detail: String,
    },
}

/// Calls a reading tool's method.
///
/// # Errors
/// See [`Rejection`].
pub async fn read<S, Request, Response, Error>(
    tool: &'static ToolSpec,
    service: &S,
    snapshot: &dyn Snapshot,
    call: &CallContext,
    arguments: Value,
    method: ReadingMethod<S, Request, Response, Error>,
) -> Result<Answer, Rejection>
where
    Request: DeserializeOwned,
    Response: Serialize,
    Error: ContractError,
{
    if call.if_base.is_some() || call.idempotency_key.is_some() {
        let message =
            "`tabellion/ifBase` and `tabellion/idempotencyKey` apply to tools that change something";
        return Err(declared::<Error>(
            tool,
            Failure::new(FailureKind::Invalid, message),
        ));
    }
    let request = decode::<Request, Error>(tool, arguments)?;
    let notes = Notes::default();
    let response = method(
        service,
        &ReadCx {
            call,
            snapshot,
            notes: &notes,
        },
        request,
    )
    .await;
    let response = response.map_err(|error| checked(tool, error.answer()))?;
    Ok(Answer {
        response: encode(tool, response)?,
        meta: notes.take(),
    })
}

/// Calls a mutating tool's method, and makes the change that it stages. A call that is cancelled before that changes
/// nothing; afterwards it is too late.
///
/// # Errors
/// See [`Rejection`]. After any of them, nothing has changed.
pub async fn mutate<S, Request, Response, Error>(
    tool: &'static ToolSpec,
    service: &S,
    store: &dyn Store,
    call: &CallContext,
    arguments: Value,
    method: MutatingMethod<S, Request, Response, Error>,
) -> Result<Answer, Rejection>
where
    Request: DeserializeOwned + Serialize + Clone,
    Response: Serialize,
    Error: ContractError,
{
    let request = decode::<Request, Error>(tool, arguments)?;
    let normal = call
        .idempotency_key
        .as_ref()
        .map(|_| normal_form(tool, &request))
        .transpose()?;
    let refuse = |failure| declared::<Error>(tool, failure);

    for attempt in 0..ATTEMPTS {
        let mut session = store.begin(attempt).await.map_err(refuse)?;
        if call.is_cancelled() {
            return Err(refuse(cancelled()));
        }
        let notes = Notes::default();

        let replay = match (&call.idempotency_key, &normal) {
            (Some(key), Some(normal)) => session.replay(key, normal),
            _ => Ok(None),
        };
        let replay = match replay {
            Ok(replay) => replay,
            Err(Setback::Moved) => continue,
            Err(Setback::Failure(failure)) => return Err(refuse(failure)),
        };
        if let Some(replay) = replay {
            let cx = WriteCx {
                call,
                snapshot: &*replay.before,
                notes: &notes,
            };
            let staged = method(service, &cx, request)
                .await
                .map_err(|error| checked(tool, error.answer()))?;
            let response = (staged.respond)(&Receipt::new(replay.commit));
            notes.put(REPLAYED, true.into());
            return Ok(Answer {
                response: encode(tool, response)?,
                meta: notes.take(),
            });
        }

        let cx = WriteCx {
            call,
            snapshot: &*session,
            notes: &notes,
        };
        let staged = method(service, &cx, request.clone()).await;
        let Staged { change, respond } = staged.map_err(|error| checked(tool, error.answer()))?;
        let entry = Entry {
            tool: tool.name,
            call,
            request: normal.as_deref(),
        };
        let prepared = match session.prepare(&change, &entry) {
            Ok(prepared) => prepared,
            Err(Setback::Moved) => continue,
            Err(Setback::Failure(failure)) => return Err(refuse(failure)),
        };
        if let Some(expected) = &call.if_base
            && *expected != prepared.base
        {
            return Err(refuse(stale(&change.path, expected.as_deref(), prepared.base)));
        }
        let receipt = Receipt::new(prepared.commit);
        let response = encode(tool, respond(&receipt))?;
        names_commit(tool, &response, &receipt)?;
        if call.is_cancelled() {
            return Err(refuse(cancelled()));
        }
        match session.publish().await {
            Ok(()) => {
                notes.put(BASE, prepared.content.into());
                return Ok(Answer {
                    response,
                    meta: notes.take(),
                });
            }
            Err(Setback::Moved) => continue,
            Err(Setback::Failure(failure)) => return Err(refuse(failure)),
        }
    }
    let message =
        format!("the document kept changing meanwhile ({ATTEMPTS} attempts); read it and try again");
    Err(refuse(Failure::new(FailureKind::Conflict, message)))
}

/// Validates the arguments and makes them a request.
fn decode<Request: DeserializeOwned, Error: ContractError>(
    tool: &'static ToolSpec,
    mut arguments: Value,
) -> Result<Request, Rejection> {
    let invalid = |violations: Vec<Violation>| declared::<Error>(tool, Failure::violations(&violations));
    tool.input.check(&arguments).map_err(invalid)?;
    fold_integral(&mut arguments);
    Request::deserialize(arguments)
        .map_err(|error| breach(tool, format!("valid arguments do not decode: {error}")))
}

/// Makes a response a value, and validates it.
fn encode(tool: &'static ToolSpec, response: impl Serialize) -> Result<Value, Rejection> {
    let value = serde_json::to_value(response).map_err(|error| breach(tool, error))?;
    match tool.output.check(&value) {
        Ok(()) => Ok(value),
        Err(violations) => Err(breach(tool, Failure::violations(&violations))),
    }
}

/// The commit that a response names must be the one that is about to be made.
fn names_commit(tool: &'static ToolSpec, response: &Value, receipt: &Receipt) -> Result<(), Rejection> {
    let Some(pointer) = tool.commit else { return Ok(()) };
    let named = response.pointer(pointer).and_then(Value::as_str);
    if named == Some(receipt.commit()) {
        return Ok(());
    }
    Err(breach(
        tool,
        format!(
            "the response names commit {named:?} and not `{}`",
            receipt.commit()
        ),
    ))
}

/// The text by which two requests are the same or not, however their JSON was written.
fn normal_form(tool: &'static ToolSpec, request: &impl Serialize) -> Result<String, Rejection> {
    let request = serde_json::to_string(request).map_err(|error| breach(tool, error))?;
    Ok(format!("{} {request}", tool.name))
}

/// Of a call whose caller gave up before the change was made. Nobody hears of it.
fn cancelled() -> Failure {
    Failure::new(FailureKind::Io, "the call was cancelled, and nothing has changed")
}

fn stale(path: &str, expected: Option<&str>, found: Option<String>) -> Failure {
    let message = match (expected, &found) {
        (Some(_), Some(_)) => {
            format!("`{path}` has changed since; read it (or preview again) and repeat the change")
        }
        (Some(_), None) => format!("`{path}` no longer exists; list the files and decide anew"),
        (None, _) => format!("`{path}` already exists; read it and decide anew"),
    };
    Failure::new(FailureKind::Conflict, message)
        .with("expected", expected)
        .with("found", found)
}

fn declared<Error: ContractError>(tool: &'static ToolSpec, failure: Failure) -> Rejection {
    checked(tool, Error::from(failure).answer())
}

/// An error may only leave if the tool declares it.
fn checked(tool: &'static ToolSpec, error: ErrorAnswer) -> Rejection {
    if tool.errors.contains(&error.name) {
        Rejection::Declared(error)
    } else {
        breach(
            tool,
            format!("undeclared error {}: {}", error.name, error.message),
        )
    }
}

fn breach(tool: &'static ToolSpec, detail: impl ToString) -> Rejection {
    Rejection::Breach {
        tool: tool.name,
        detail: detail.to_string(),
    }
}

/// JSON Schema calls 10.0 an integer and serde does not: folds integral floats, so that what validates decodes.
fn fold_integral(value: &mut Value) {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::Number(number) if number.is_f64() => {
            if let Some(float) = number
                .as_f64()
                .filter(|float| float.fract() == 0.0 && float.abs() < EXACT)
            {
                *value = (float as i64).into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(fold_integral),
        Value::Object(members) => members.values_mut().for_each(fold_integral),
        _ => {}
    }
}
