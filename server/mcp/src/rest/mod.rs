//! Contracts over REST, at the endpoints that they declare.
//!
//! ```text
//! request → tools/call of 2026-07-28 → the same calls as over MCP → answer → response
//! ```
//!
//! A request is made a message of MCP, and its answer a response of HTTP. So limits, roles, gates, conditions and errors are those of MCP,
//! and there is nothing here that a call could do otherwise. Endpoints, statuses and the form of errors are the contract's.

mod answer;
mod executions;
mod message;
mod prefer;
mod sessions;
mod workflows;

use std::sync::Arc;

use hyper::{
    Request, Response, StatusCode,
    body::Bytes,
    header::{ALLOW, HeaderMap, HeaderValue, RETRY_AFTER},
};
use serde_json::{Map, Value};
use tabellion_runtime::{
    Agent, Contract, ContractSpec, KnownCaller,
    auth::REASON,
    openapi, rates,
    spec::{RestEndpoint, RestOperation},
};

use crate::{
    access::{Access, Budget, Grant},
    caller,
    request_origin::RequestOrigin,
    streamable::{Body, Endpoint, Refusal, Why},
};

/// The headers that requests may have, beside those that requests of MCP may have.
pub const REQUEST_HEADERS: [&str; 4] = ["idempotency-key", "if-match", "if-none-match", "prefer"];
/// The headers of answers, likewise.
pub const RESPONSE_HEADERS: [&str; 3] = ["etag", "location", "preference-applied"];

/// A request to an endpoint, as the transport knows it.
pub struct RestRequest {
    /// Path of the request, below that of the contract.
    pub path: String,
    /// Head and body.
    pub request: Request<Bytes>,
    /// Name of the request in the log.
    pub name: Arc<str>,
    /// The caller's permissions, if callers are authenticated.
    pub grant: Option<Arc<dyn Grant>>,
    /// The caller's remaining requests, if these are limited.
    pub budget: Option<Arc<dyn Budget>>,
}

impl Endpoint {
    /// Returns the endpoints of the contract that is served over REST; none if none is. Of several, it is the first.
    pub fn rest(&self) -> &'static [RestEndpoint] {
        self.rest_contract().map_or(&[], |contract| contract.rest)
    }

    /// Answers a request to one of the endpoints.
    pub async fn answer_rest(self: &Arc<Self>, asked: RestRequest) -> Response<Body> {
        match self.try_rest(asked).await {
            Ok(response) => response,
            Err(refusal) => self.refuse_rest(refusal.status(), &refusal.why(), &refusal.headers()),
        }
    }

    /// Returns the response to a request that is refused before it is a call, in the form of the contract's errors.
    pub fn refuse_rest(&self, status: StatusCode, why: &Why, headers: &HeaderMap) -> Response<Body> {
        let mut response = match self.rest_contract() {
            Some(contract) => answer::refused(contract, status, &why.message, details(why, headers)),
            None => Response::new(Body::whole("")),
        };
        response.headers_mut().extend(headers.clone());
        response
    }

    /// Returns the description of the endpoints.
    pub fn openapi(&self) -> Value {
        let url = self.url().unwrap_or_default();
        self.rest_contract().map_or(Value::Null, |contract| {
            openapi::document(contract, url, &|tool| self.offers(tool))
        })
    }

    fn rest_contract(&self) -> Option<&'static ContractSpec> {
        self.contracts().find(|contract| !contract.rest.is_empty())
    }

    async fn try_rest(self: &Arc<Self>, asked: RestRequest) -> Result<Response<Body>, Refusal> {
        let contract = self.rest_contract().ok_or_else(not_found)?;
        if !self.is_open() {
            return Err(Refusal::busy("the server is stopping"));
        }
        let at = contract.endpoints_at(&asked.path);
        if at.is_empty() {
            return Err(not_found());
        }
        let methods = at.iter().map(|(endpoint, _)| endpoint.method.to_string());
        let Some(chosen) = methods
            .clone()
            .position(|method| asked.request.method().as_str() == method)
        else {
            let methods = methods.collect::<Vec<_>>().join(", ");
            let why = format!("only {methods} is served here");
            let allowed = HeaderValue::from_str(&methods).expect("methods are of letters");
            return Err(Refusal::new(StatusCode::METHOD_NOT_ALLOWED, why).header(ALLOW, allowed));
        };
        let (endpoint, variables) = &at[chosen];
        let named = variables.first().copied().unwrap_or_default().to_owned();
        match endpoint.is {
            RestOperation::OpenApi => Ok(answer::json(StatusCode::OK, &self.openapi())),
            // Files are served beside the calls, to those who have their URLs.
            RestOperation::Download => Err(not_found()),
            RestOperation::ToolList => {
                counted(&asked, Access::Read)?;
                Ok(answer::json(StatusCode::OK, &self.listed(contract)))
            }
            RestOperation::ToolExecute => self.execute(contract, &named, asked).await,
            RestOperation::WorkflowList => {
                counted(&asked, Access::Read)?;
                Ok(answer::json(StatusCode::OK, &workflows::listed(contract)))
            }
            is @ (RestOperation::WorkflowStart
            | RestOperation::InstanceGet
            | RestOperation::InstanceList
            | RestOperation::TaskComplete) => {
                let variables = variables.iter().map(|it| (*it).to_owned()).collect();
                self.call_workflow(contract, is, variables, asked).await
            }
            RestOperation::ExecutionGet => self.execution(contract, endpoint, &named, asked).await,
            RestOperation::ExecutionCancel => self.cancel(contract, endpoint, &named, asked).await,
            RestOperation::SessionCreate => self.open_session(contract, asked).await,
            RestOperation::SessionRenew => self.renew_session(contract, &named, asked).await,
            RestOperation::SessionEnd => self.end_session(contract, &named, asked).await,
        }
    }

    /// Returns the contract that is served over REST, with its implementation.
    fn service(&self, spec: &'static ContractSpec) -> Result<&Arc<dyn Contract>, Refusal> {
        let service = self.shared().catalog.service(spec.id);
        service.ok_or_else(not_found)
    }

    /// Returns where a request comes from.
    fn origin(&self, headers: &HeaderMap, asked: &RestRequest) -> RequestOrigin {
        RequestOrigin {
            request: asked.name.clone(),
            grant: asked.grant.clone(),
            url: self.url().map(Arc::from),
            headers: self.read_headers(headers),
            budget: asked.budget.clone(),
            awaited: None,
            is_rest: true,
        }
    }

    /// Returns the caller of a request that is no call.
    ///
    /// # Errors
    /// If it is not known.
    fn known(&self, contract: &'static ContractSpec, asked: &RestRequest) -> Result<KnownCaller, Refusal> {
        let headers = asked.request.headers();
        let said = message::client(headers)
            .map(|(name, version)| Agent::said(Some(name.to_owned()), Some(version.to_owned())));
        let origin = self.origin(headers, asked);
        let known = caller::known(self.shared(), contract, Some(&origin), said.unwrap_or_default());
        known.ok_or_else(|| {
            Refusal::new(
                StatusCode::UNAUTHORIZED,
                "the caller is unknown; send a key or a token",
            )
        })
    }
}

/// Counts a request that is no call of a tool.
fn counted(asked: &RestRequest, access: Access) -> Result<(), Refusal> {
    match asked.budget.as_ref().map(|budget| budget.take(access)) {
        Some(Err(wait)) => Err(Refusal::too_many(
            "too many requests in a minute; try again later",
            wait,
        )),
        _ => Ok(()),
    }
}

/// Returns the details of a refusal: its reason, and when to try again.
fn details(why: &Why, headers: &HeaderMap) -> Map<String, Value> {
    let reason = why.reason.map(|reason| (REASON.to_owned(), reason.into()));
    let seconds = headers
        .get(RETRY_AFTER)
        .and_then(|it| it.to_str().ok()?.parse::<u64>().ok());
    let seconds = seconds.map(|seconds| (rates::RETRY_AFTER.to_owned(), seconds.into()));
    reason.into_iter().chain(seconds).collect()
}

fn not_found() -> Refusal {
    Refusal::new(StatusCode::NOT_FOUND, "nothing is served at that path")
}
