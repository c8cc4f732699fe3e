//! Contracts over REST, at the endpoints that they declare.
//!
//! ```text
//! request → tools/call of 2026-07-28 → the same calls as over MCP → answer → response
//! ```
//!
//! A request is made a message of MCP, and its answer a response of HTTP. So limits, roles, gates, conditions and errors are those of MCP,
//! and there is nothing here that a call could do otherwise. Endpoints, statuses and the form of errors are the contract's.

mod answer;
mod message;
mod openapi;
mod workflows;

use std::sync::Arc;

use hyper::{
    Request, Response, StatusCode,
    body::Bytes,
    header::{ALLOW, HeaderMap, HeaderValue},
};
use serde_json::Value;
use tabellion_runtime::{
    ContractSpec,
    spec::{RestEndpoint, RestOperation},
};

pub use self::openapi::openapi;
use crate::{
    access::{Access, Budget, Grant},
    request_origin::RequestOrigin,
    streamable::{Body, Endpoint, Refusal},
};

/// The headers that requests may have, beside those that requests of MCP may have.
pub const REQUEST_HEADERS: [&str; 3] = ["idempotency-key", "if-match", "if-none-match"];
/// The headers of answers, likewise.
pub const RESPONSE_HEADERS: [&str; 1] = ["etag"];

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
    pub async fn answer_rest(&self, asked: RestRequest) -> Response<Body> {
        match self.try_rest(asked).await {
            Ok(response) => response,
            Err(refusal) => self.refuse_rest(refusal.status(), refusal.why(), &refusal.headers()),
        }
    }

    /// Returns the response to a request that is refused before it is a call, in the form of the contract's errors.
    pub fn refuse_rest(&self, status: StatusCode, why: &str, headers: &HeaderMap) -> Response<Body> {
        let mut response = match self.rest_contract() {
            Some(contract) => answer::refused(contract, status, why),
            None => Response::new(Body::whole("")),
        };
        response.headers_mut().extend(headers.clone());
        response
    }

    /// Returns the description of the endpoints.
    pub fn openapi(&self) -> Value {
        let url = self.url().unwrap_or_default();
        self.rest_contract().map_or(Value::Null, |contract| {
            openapi(contract, url, &|tool| self.offers(tool))
        })
    }

    fn rest_contract(&self) -> Option<&'static ContractSpec> {
        self.contracts().find(|contract| !contract.rest.is_empty())
    }

    async fn try_rest(&self, asked: RestRequest) -> Result<Response<Body>, Refusal> {
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
            RestOperation::ToolList => {
                counted(&asked)?;
                Ok(answer::json(StatusCode::OK, &self.listed(contract)))
            }
            RestOperation::ToolExecute => self.execute(contract, &named, asked).await,
            RestOperation::WorkflowList => {
                counted(&asked)?;
                Ok(answer::json(StatusCode::OK, &workflows::listed(contract)))
            }
            is @ (RestOperation::WorkflowStart
            | RestOperation::InstanceGet
            | RestOperation::InstanceList
            | RestOperation::TaskComplete) => {
                let variables = variables.iter().map(|it| (*it).to_owned()).collect();
                self.call_workflow(contract, is, variables, asked).await
            }
        }
    }

    /// Calls the tool of this name.
    async fn execute(
        &self,
        contract: &'static ContractSpec,
        tool: &str,
        asked: RestRequest,
    ) -> Result<Response<Body>, Refusal> {
        let Some(tool) = contract.tool(tool).filter(|tool| self.offers(tool.name)) else {
            let names: Vec<_> = contract.tools.iter().map(|tool| tool.name).collect();
            let why = format!("there is no such tool; there are {}", names.join(", "));
            return Err(Refusal::new(StatusCode::NOT_FOUND, why));
        };
        let (head, body) = asked.request.into_parts();
        let message = message::call(tool, &head.headers, &body)?;
        let origin = RequestOrigin {
            request: asked.name,
            grant: asked.grant,
            url: self.url().map(Arc::from),
            headers: self.read_headers(&head.headers),
            budget: asked.budget,
            is_rest: true,
        };
        let begun = std::time::SystemTime::now();
        let text = self.ask(message, origin).await?;
        Ok(answer::execution(contract, tool.name, begun, &text))
    }
}

/// Counts a request that reads, and is no call.
fn counted(asked: &RestRequest) -> Result<(), Refusal> {
    match asked.budget.as_ref().map(|budget| budget.take(Access::Read)) {
        Some(Err(wait)) => Err(Refusal::too_many(
            "too many requests in a minute; try again later",
            wait,
        )),
        _ => Ok(()),
    }
}

fn not_found() -> Refusal {
    Refusal::new(StatusCode::NOT_FOUND, "nothing is served at that path")
}
