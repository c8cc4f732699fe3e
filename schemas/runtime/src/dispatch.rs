//! A request's way to a handler and back.
//!
//! Reading: validate → judge the path → decode → call → encode → validate. Mutating: the same, after a person's approval
//! where it is needed, between [`Store::begin`] and [`Session::publish`](crate::Session::publish), with the commit
//! prepared before the answer is made, so that an answer that breaks its schema has written nothing and the commit that
//! an answer names is the one that was made.

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{
    answer::{Answer, Rejection},
    approval,
    approver::{Decision, Proposal},
    call::{Notes, ReadCx, Receipt, Staged, WriteCx},
    context::{BASE, COMMIT, CallContext, REPLAYED},
    failure::{ContractError, ErrorAnswer, Failure, FailureKind},
    future::BoxFuture,
    shape::Violation,
    spec::ToolSpec,
    store::{Entry, Setback, Snapshot, Store},
};

/// A reading tool's method on an implementation `S`, its future on the heap.
pub type ReadingMethod<S, Request, Response, Error> =
    for<'c> fn(&'c S, &'c ReadCx<'c>, Request) -> BoxFuture<'c, Result<Response, Error>>;

/// A mutating tool's method on an implementation `S`, its future on the heap.
pub type MutatingMethod<S, Request, Response, Error> =
    for<'c> fn(&'c S, &'c WriteCx<'c>, Request) -> BoxFuture<'c, Result<Staged<Response>, Error>>;

/// How often a change is planned anew when somebody else was faster.
pub const ATTEMPTS: u32 = 10;

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
    let shows = approval::needed(tool, call.approver.as_deref());
    let proposed = propose(
        tool,
        service,
        store,
        call,
        request.clone(),
        normal.as_deref(),
        method,
    )
    .await?;
    let approved = match proposed {
        Some(proposal) => Some(approve::<Error>(tool, call, proposal).await?),
        None => None,
    };

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
            let receipt = Receipt::new(replay.commit);
            let response = (staged.respond)(&receipt);
            note_commit(tool, &notes, &receipt);
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
        let Staged {
            change,
            details,
            respond,
        } = staged.map_err(|error| checked(tool, error.answer()))?;
        if let Some(shows) = shows {
            let old = session.read(&change.path).map_err(refuse)?;
            let old = old.as_ref().map(|document| document.bytes.as_slice());
            let digest =
                approval::digest(tool, shows, old, &change).map_err(|detail| breach(tool, detail))?;
            if approved.as_ref().is_none_or(|approved| approved.digest != digest) {
                return Err(refuse(approval::outdated(&change.path)));
            }
        }
        let entry = Entry {
            tool: tool.name,
            call,
            request: normal.as_deref(),
            details: &details,
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
                note_commit(tool, &notes, &receipt);
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

/// Works out what the call would change now, to have it approved. `None` where nobody need approve, or where the call has
/// been made before.
async fn propose<S, Request, Response, Error: ContractError>(
    tool: &'static ToolSpec,
    service: &S,
    store: &dyn Store,
    call: &CallContext,
    request: Request,
    normal: Option<&str>,
    method: MutatingMethod<S, Request, Response, Error>,
) -> Result<Option<Proposal>, Rejection> {
    let Some(shows) = approval::needed(tool, call.approver.as_deref()) else {
        return Ok(None);
    };
    let refuse = |failure| declared::<Error>(tool, failure);
    // Nobody changes the document between the method's look at it and ours. Whoever is asked is not waited for here.
    let session = store.begin(0).await.map_err(refuse)?;
    if let (Some(key), Some(normal)) = (&call.idempotency_key, normal) {
        match session.replay(key, normal) {
            Ok(None) | Err(Setback::Moved) => {}
            Ok(Some(_)) => return Ok(None),
            Err(Setback::Failure(failure)) => return Err(refuse(failure)),
        }
    }
    let cx = WriteCx {
        call,
        snapshot: &*session,
        notes: &Notes::default(),
    };
    let staged = method(service, &cx, request).await;
    let Staged { change, .. } = staged.map_err(|error| checked(tool, error.answer()))?;
    let old = session.read(&change.path).map_err(refuse)?;
    let base = old.as_ref().map(|document| document.id.clone());
    if let Some(expected) = &call.if_base
        && *expected != base
    {
        return Err(refuse(stale(&change.path, expected.as_deref(), base)));
    }
    let old = old.as_ref().map(|document| document.bytes.as_slice());
    let proposal = approval::proposal(tool, shows, store, old, &change);
    proposal.map(Some).map_err(|detail| breach(tool, detail))
}

/// Has a proposal approved.
async fn approve<Error: ContractError>(
    tool: &'static ToolSpec,
    call: &CallContext,
    proposal: Proposal,
) -> Result<Proposal, Rejection> {
    let decision = match &call.approver {
        Some(approver) => approver.decide(&proposal).await,
        None => Decision::Declined("a person must approve of this, and there is nobody to ask".into()),
    };
    match decision {
        Decision::Granted => Ok(proposal),
        Decision::Declined(why) => Err(declared::<Error>(tool, approval::declined(&proposal, &why))),
        Decision::Ask => Err(Rejection::InputRequired(Box::new(proposal))),
    }
}

/// Validates the arguments, judges the path in them, and makes them a request.
fn decode<Request: DeserializeOwned, Error: ContractError>(
    tool: &'static ToolSpec,
    mut arguments: Value,
) -> Result<Request, Rejection> {
    let invalid = |violations: Vec<Violation>| declared::<Error>(tool, Failure::violations(&violations));
    tool.input.check(&arguments).map_err(invalid)?;
    if let (Some(policy), Some(path)) = (tool.paths, tool.path_of(&arguments)) {
        policy
            .judge(&path)
            .map_err(|failure| declared::<Error>(tool, failure))?;
    }
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

/// Says which commit was made, where the response has no place for it.
fn note_commit(tool: &ToolSpec, notes: &Notes, receipt: &Receipt) {
    if tool.commit.is_none() {
        notes.put(COMMIT, receipt.commit().into());
    }
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
