//! Dispatch of calls to the methods of a contract's trait.
//!
//! Reading: check the caller → validate → check the path → decode → gates → call → encode → validate → gates. Mutating: the same, after a
//! person's approval where it is required, between [`Store::begin`] and [`Session::publish`](crate::Session::publish). The commit is
//! prepared before the answer is created: an answer that breaks its schema writes nothing, and an answer names the commit that was made.

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{
    answer::{Answer, Rejection},
    auth,
    boundary::{choose, declared, decode, encode, failed},
    call::{MutatingMethod, ReadCx, ReadingMethod},
    context::CallContext,
    failure::{ContractError, Failure, FailureKind},
    gates::{self, CallGates},
    ground::Ground,
    mutation::Mutation,
    spec::{ContractSpec, ToolSpec},
    store::{self, Store},
};

pub use crate::mutation::MAX_ATTEMPTS;

/// A call of an operation, which generated code passes to the operation's method.
pub struct Run<'a, S, G: Ground> {
    /// The operation.
    pub operation: &'static ToolSpec,
    /// The implementation.
    pub service: &'a S,
    /// The store that it reads and the runtime changes.
    pub store: &'a dyn Store<G>,
    /// The call's context.
    pub call: &'a CallContext,
    /// Its arguments.
    pub arguments: Value,
}

impl<S, G: Ground> Run<'_, S, G> {
    /// Calls a reading method: see [`read`].
    ///
    /// # Errors
    /// See [`Rejection`].
    pub async fn read<Request, Response, Error>(
        self,
        method: ReadingMethod<S, Request, Response, Error, G>,
    ) -> Result<Answer, Rejection>
    where
        Request: DeserializeOwned,
        Response: Serialize,
        Error: ContractError,
    {
        read(self.operation, self.service, self.store, self.call, self.arguments, method).await
    }

    /// Calls a mutating method: see [`mutate`].
    ///
    /// # Errors
    /// See [`Rejection`]. After any of them, nothing has changed.
    pub async fn mutate<Request, Response, Error>(
        self,
        method: MutatingMethod<S, Request, Response, Error, G>,
    ) -> Result<Answer, Rejection>
    where
        Request: DeserializeOwned + Serialize + Clone,
        Response: Serialize,
        Error: ContractError,
    {
        mutate(self.operation, self.service, self.store, self.call, self.arguments, method).await
    }
}

/// Returns the tool of this name, or the call of an endpoint with this name.
///
/// # Errors
/// [`Rejection::UnknownTool`].
pub fn tool(contract: &'static ContractSpec, name: &str) -> Result<&'static ToolSpec, Rejection> {
    let call = || contract.calls.iter().find(|call| call.name == name);
    contract.tool(name).or_else(call).ok_or(Rejection::UnknownTool)
}

/// Returns the operation that `arguments` choose, which is the tool itself if it has no selectors.
///
/// # Errors
/// If the tool has no operation for them: see [`Rejection`].
pub fn operation<Error: ContractError>(
    tool: &'static ToolSpec,
    arguments: &Value,
) -> Result<&'static ToolSpec, Rejection> {
    match tool.operations {
        Some(_) => choose::<Error>(tool, arguments),
        None => Ok(tool),
    }
}

/// Calls a reading tool's method.
///
/// # Errors
/// See [`Rejection`].
pub async fn read<S, Request, Response, Error, G>(
    tool: &'static ToolSpec,
    service: &S,
    store: &dyn Store<G>,
    call: &CallContext,
    arguments: Value,
    method: ReadingMethod<S, Request, Response, Error, G>,
) -> Result<Answer, Rejection>
where
    Request: DeserializeOwned,
    Response: Serialize,
    Error: ContractError,
    G: Ground,
{
    if call.if_base.is_some() || call.idempotency_key.is_some() {
        let message =
            "`tabellion/ifBase` and `tabellion/idempotencyKey` apply to tools that change something";
        return Err(failed::<Error>(tool, Failure::new(FailureKind::Invalid, message)));
    }
    let (request, gates) = admit::<Request, Error>(tool, call, arguments)?;
    let notes = gates.notes();
    let snapshot = store.snapshot().await;
    let snapshot = snapshot.map_err(|failure| failed::<Error>(tool, failure))?;
    let view = store::view(store, &snapshot);
    let response = method(service, &ReadCx::new(call, view, &notes), request).await;
    let response = response.map_err(|error| declared(tool, error.answer()))?;
    let response = encode(tool, response)?;
    gates.close::<Error>(&notes, &response)?;
    Ok(Answer { response, meta: notes.take() })
}

/// Decodes the request of an authorised caller, if the gates before the method approve.
fn admit<Request: DeserializeOwned, Error: ContractError>(
    tool: &'static ToolSpec,
    call: &CallContext,
    arguments: Value,
) -> Result<(Request, CallGates), Rejection> {
    auth::check::<Error>(tool, call)?;
    let facts = gates::asked(tool, call, &arguments);
    let request = decode::<Request, Error>(tool, arguments)?;
    Ok((request, CallGates::open::<Error>(tool, call, facts)?))
}

/// Calls a mutating tool's method, and publishes the change that it stages. A call that is cancelled earlier changes nothing.
///
/// # Errors
/// See [`Rejection`]. After any of them, nothing has changed.
pub async fn mutate<S, Request, Response, Error, G>(
    tool: &'static ToolSpec,
    service: &S,
    store: &dyn Store<G>,
    call: &CallContext,
    arguments: Value,
    method: MutatingMethod<S, Request, Response, Error, G>,
) -> Result<Answer, Rejection>
where
    Request: DeserializeOwned + Serialize + Clone,
    Response: Serialize,
    Error: ContractError,
    G: Ground,
{
    let (request, gates) = admit::<Request, Error>(tool, call, arguments)?;
    Mutation::new(tool, service, store, call, (request, gates), method)?.run().await
}
