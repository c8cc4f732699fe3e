//! Calls, from a request to its outcome, and the other requests that contracts answer.

use std::{
    panic::AssertUnwindSafe,
    sync::{Arc, OnceLock},
    time::Instant,
};

use futures_util::FutureExt as _;
use serde_json::{Map, Value};
use tabellion_runtime::{
    Answer, Approver, CallContext, CallOrigin, Caller, Connection, Contract, ContractSpec, Environment,
    ErrorChannel, KnownCaller, Rejection, ToolSpec, auth, calls::CallStore, identity::Method, meta::REVIEW,
};
use tracing::Instrument as _;
use uuid::Uuid;

use crate::{
    access::Access,
    approval::ApprovalPolicy,
    caller::{self, LocalCaller},
    calls::Calls,
    catalog::{Catalog, NameClash, Offer, Route},
    error::{self, CallError, INTERNAL_ERROR},
    internal_error::RequestId,
    origin::{Requester, forbidden},
    recording::{self, Awaited, Beginning},
};

/// Contracts, and the state that all of their clients share.
pub struct Gateway {
    catalog: Catalog,
    approval: ApprovalPolicy,
    calls: Calls,
    environment: OnceLock<Arc<dyn Environment>>,
    call_store: OnceLock<Arc<dyn CallStore>>,
    local_caller: OnceLock<LocalCaller>,
    review_place: OnceLock<ReviewPlace>,
}

/// The place of reviews, for people. The id of the workflow's instance is appended.
#[derive(Debug, Clone)]
pub enum ReviewPlace {
    /// The beginning of an address.
    Url(String),
    /// The beginning of a command.
    Command(&'static str),
}

impl ReviewPlace {
    /// Adds the place to the answer of a call that made a proposal.
    fn name_in(&self, meta: &mut Map<String, Value>) {
        let Some(Value::Object(review)) = meta.get_mut(REVIEW) else {
            return;
        };
        let id = review.get("id").and_then(Value::as_str).unwrap_or_default();
        let (key, place) = match self {
            Self::Url(beginning) => ("url", format!("{beginning}{id}")),
            Self::Command(beginning) => ("command", format!("{beginning} {id}")),
        };
        review.insert(key.into(), place.into());
    }
}

/// A call of a tool.
pub struct CallRequest<'a> {
    /// Its arguments, by name.
    pub arguments: Map<String, Value>,
    /// Its caller and origin.
    pub requester: Requester<'a>,
    /// The connection that it shares with other calls of its client.
    pub connection: Arc<Connection>,
    /// True if the connection is a session, to which the call belongs if it names none.
    pub in_session: bool,
    /// Set if the client waits for the call's execution rather than for its answer.
    pub awaited: Option<Awaited>,
    /// The waiting client: it can cancel, and may receive progress.
    pub client: Arc<dyn Caller>,
    /// Makes the call's approver, if it needs one.
    pub approver: MakeApprover<'a>,
}

/// Makes the approver of a call of a tool with these arguments.
pub type MakeApprover<'a> = Box<dyn FnOnce(&'static ToolSpec, &Value) -> Arc<dyn Approver> + Send + 'a>;

impl Gateway {
    /// Creates a gateway to the parts of `contracts` that `offer` permits, in their order.
    ///
    /// # Errors
    /// If two contracts have a tool, resource or prompt of the same name.
    pub fn new(
        contracts: Vec<Arc<dyn Contract>>,
        offer: Offer,
        approval: ApprovalPolicy,
    ) -> Result<Self, NameClash> {
        Ok(Self {
            catalog: Catalog::new(contracts, offer)?,
            approval,
            calls: Calls::default(),
            environment: OnceLock::new(),
            call_store: OnceLock::new(),
            local_caller: OnceLock::new(),
            review_place: OnceLock::new(),
        })
    }

    /// Sets the server's facts about the origin of calls. Only the first call of this has an effect.
    pub fn set_environment(&self, environment: Arc<dyn Environment>) {
        let _ = self.environment.set(environment);
    }

    /// Records calls in `store`, for contracts that require it. Only the first call of this has an effect.
    pub fn set_call_store(&self, store: Arc<dyn CallStore>) {
        let _ = self.call_store.set(store);
    }

    /// Sets the caller on standard input and output. Only the first call of this has an effect.
    pub fn set_local_caller(&self, caller: LocalCaller) {
        let _ = self.local_caller.set(caller);
    }

    /// Sets the place of reviews, which is named in answers of proposals. Only the first call of this has an effect.
    pub fn set_review_place(&self, place: ReviewPlace) {
        let _ = self.review_place.set(place);
    }

    /// Returns the catalog.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// Returns the policy on approvals.
    pub fn approval(&self) -> &ApprovalPolicy {
        &self.approval
    }

    /// Returns the statistics of tool calls.
    pub fn calls(&self) -> &Calls {
        &self.calls
    }

    /// Returns the store of calls, if there is one.
    pub fn call_store(&self) -> Option<&Arc<dyn CallStore>> {
        self.call_store.get()
    }

    /// Returns the tool of this name.
    ///
    /// # Errors
    /// If it is not offered.
    pub fn tool(&self, name: &str) -> Result<&Route<ToolSpec>, CallError> {
        self.catalog.tools.route(name).ok_or_else(|| {
            if self.catalog.withholds(name) {
                CallError::withheld(name)
            } else {
                CallError::unknown("tool", name)
            }
        })
    }

    /// Returns the tool of this name, or the call of this name that a contract declares in addition to its tools.
    ///
    /// # Errors
    /// If it is not offered.
    pub fn tool_or_call(&self, name: &str) -> Result<&Route<ToolSpec>, CallError> {
        self.tool(name).or_else(|error| self.catalog.call(name).ok_or(error))
    }

    /// Makes a call.
    ///
    /// # Errors
    /// See [`CallError`]. Errors that are not [`Declared`](CallError::Declared) occur before the contract is called, or in its place.
    pub async fn call(&self, route: &Route<ToolSpec>, request: CallRequest<'_>) -> Result<Answer, CallError> {
        let (contract, spec) = (&*route.contract, route.contract.spec());
        // The runtime refuses arguments that select no operation.
        let tool = route.spec.operation_of(&request.arguments).unwrap_or(route.spec);
        if self.catalog.withholds(tool.label()) {
            return Err(CallError::withheld(tool.label()));
        }
        let access = Access::needed_by(route.spec, &request.arguments);
        request.requester.allow(spec, access)?;
        self.check_token(spec, tool, &request.requester)?;
        let arguments = Value::Object(request.arguments);
        let approver = self.approval.covers(tool).then(|| (request.approver)(tool, &arguments));
        let id = RequestId::next();
        let outcome = async {
            let call = CallContext {
                approver,
                origin: CallOrigin {
                    connection: Some(request.connection),
                    environment: self.environment.get().cloned(),
                    ..request.requester.call_origin()
                },
                ..self.conditions(spec, &request.requester, request.client)?
            };
            let beginning = Beginning {
                tool,
                arguments: &arguments,
                in_session: request.in_session,
                awaited: request.awaited,
            };
            let (recorded, call) = recording::begin(self.call_store(), contract, &beginning, call).await?;
            let answer = contract.call(&call, tool.name, arguments).instrument(id.span());
            let mut outcome = caught(tool.name, answer).await;
            if let (Ok(answer), Some(place)) = (&mut outcome, self.review_place.get()) {
                place.name_in(&mut answer.meta);
            }
            match recorded {
                Some(recorded) => recorded.end(contract, &call, outcome).await,
                None => outcome,
            }
        };
        let begun = Instant::now();
        let outcome = outcome.await;
        self.calls.count(tool.label(), &outcome, begun.elapsed());
        outcome.map_err(|rejection| match rejection {
            Rejection::UnknownTool => CallError::unknown("tool", tool.name),
            Rejection::InputRequired(proposal) => CallError::Approval(proposal),
            // As a result of its tool, the error contains its own remedy.
            Rejection::Declared(mut error) if spec.error_channel == ErrorChannel::Result => {
                if error.code == INTERNAL_ERROR && spec.error_body.is_some() {
                    id.mark(tool.label(), &error.message, &mut error.data);
                }
                CallError::Declared(error)
            }
            rejection => failure(spec, rejection, (id, tool.label())),
        })
    }

    /// Returns the context of a request that is not a call of a tool.
    ///
    /// # Errors
    /// If its caller may not read, or its conditions are invalid.
    pub fn reading(
        &self,
        spec: &'static ContractSpec,
        requester: &Requester<'_>,
        client: Arc<dyn Caller>,
    ) -> Result<CallContext, CallError> {
        requester.allow(spec, Access::Read)?;
        let context = self.conditions(spec, requester, client);
        context.map_err(|rejection| failure(spec, rejection, (RequestId::next(), spec.id)))
    }

    /// Returns the contract's answer to a request that is not a call of a tool. `name` is for the log.
    ///
    /// # Errors
    /// [`CallError::Declared`] and [`CallError::Internal`].
    pub async fn read<T>(
        &self,
        spec: &ContractSpec,
        name: &'static str,
        answer: impl Future<Output = Result<T, Rejection>>,
    ) -> Result<T, CallError> {
        let id = RequestId::next();
        let answer = caught(name, answer.instrument(id.span())).await;
        answer.map_err(|rejection| failure(spec, rejection, (id, name)))
    }

    /// Returns the caller of a request; `None` if the contract has no roles, or the caller is unknown.
    pub fn known_caller(&self, spec: &ContractSpec, requester: &Requester<'_>) -> Option<KnownCaller> {
        caller::identify(&self.local_caller(), spec, requester)
    }

    /// Checks that the caller of a request may read a resource and be notified of its changes.
    ///
    /// # Errors
    /// [`CallError::Forbidden`].
    pub fn may_watch(
        &self,
        spec: &'static ContractSpec,
        resource: &str,
        requester: &Requester<'_>,
    ) -> Result<(), CallError> {
        requester.allow(spec, Access::Read)?;
        // Notifications do not depend on the program that the caller uses.
        let requester = Requester { client: None, ..requester.clone() };
        let caller = self.known_caller(spec, &requester);
        auth::may_read(spec, resource, caller.as_ref())
            .map_err(|failure| CallError::Forbidden { message: failure.message, data: failure.data })
    }

    /// Checks that the caller's token has the scope that a contract with roles needs for a call. An OAuth client gets the next token by
    /// this refusal; the holder of a key gets the contract's own error.
    fn check_token(
        &self,
        spec: &ContractSpec,
        tool: &'static ToolSpec,
        requester: &Requester<'_>,
    ) -> Result<(), CallError> {
        let caller = self.known_caller(spec, requester);
        let Some(caller) = caller.filter(|caller| caller.identity.method() == Method::AccessToken) else {
            return Ok(());
        };
        match auth::missing_scope(spec, tool, &caller) {
            Some(scope) => Err(forbidden(&caller.name, spec, &scope.to_string())),
            None => Ok(()),
        }
    }

    fn local_caller(&self) -> LocalCaller {
        self.local_caller.get().cloned().unwrap_or_default()
    }

    /// Returns the caller and the conditions of a request.
    fn conditions(
        &self,
        spec: &ContractSpec,
        requester: &Requester<'_>,
        client: Arc<dyn Caller>,
    ) -> Result<CallContext, Rejection> {
        let program = requester.client.as_ref();
        let program = program.map(|client| format!("{}/{}", client.name, client.version));
        let mut call = CallContext::from_meta(program, requester.meta)
            .map_err(|violations| error::invalid_conditions(spec, &violations))?;
        if let Some(grant) = requester.grant() {
            call.author = Some(grant.author());
            call.org = grant.org().map(Arc::from);
            call.user = grant.user().map(Arc::from);
        }
        call.caller = self.known_caller(spec, requester).map(Arc::new);
        call.identity = match &call.caller {
            Some(caller) => Some(caller.identity.clone()),
            None => caller::identity(&self.local_caller(), requester),
        };
        call.counted_as = requester.counted_as().cloned();
        Ok(call.with_caller(client))
    }
}

/// Returns a connection with a unique id.
pub fn connection() -> Arc<Connection> {
    Arc::new(Connection::new(Uuid::new_v4().to_string()))
}

/// Returns an error if an implementation panics. No state of the future is used afterwards.
async fn caught<T>(
    tool: &'static str,
    answer: impl Future<Output = Result<T, Rejection>>,
) -> Result<T, Rejection> {
    let answer = AssertUnwindSafe(answer).catch_unwind().await;
    answer.unwrap_or_else(|_| Err(Rejection::Breach { tool, detail: "the implementation panicked".into() }))
}

/// Returns the error for a rejection. The server's own errors contain the request's id, and are logged.
fn failure(spec: &ContractSpec, rejection: Rejection, (id, label): (RequestId, &str)) -> CallError {
    let (name, detail) = match rejection {
        Rejection::Declared(mut error) => {
            error.data = spec.details(&error);
            if error.code == INTERNAL_ERROR {
                id.mark(label, &error.message, &mut error.data);
            }
            return CallError::Declared(error);
        }
        Rejection::Breach { tool, detail } => (tool, detail),
        Rejection::UnknownTool | Rejection::Unknown | Rejection::InputRequired(_) => {
            ("", "a rejection that fits no request of this kind".into())
        }
    };
    tracing::error!(contract = spec.id, name, "the implementation broke its contract (detail: level debug)");
    // May quote a part of a note.
    tracing::debug!(contract = spec.id, name, detail, "breach");
    let mut data = Map::new();
    id.mark(label, CallError::INTERNAL, &mut data);
    CallError::Internal { data }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_that_waits_names_the_place_of_the_decision() {
        let page = ReviewPlace::Url("https://example.org/page/review/".into());
        for (place, meta, expected) in [
            (
                &page,
                json!({ REVIEW: { "id": "7a" } }),
                json!({ REVIEW: { "id": "7a", "url": "https://example.org/page/review/7a" } }),
            ),
            (
                &ReviewPlace::Command("review"),
                json!({ REVIEW: { "id": "7a" } }),
                json!({ REVIEW: { "id": "7a", "command": "review 7a" } }),
            ),
            (&page, json!({ "other": 1 }), json!({ "other": 1 })),
        ] {
            let Value::Object(mut meta) = meta else { unreachable!() };
            place.name_in(&mut meta);
            assert_eq!(Value::from(meta), expected);
        }
    }
}
