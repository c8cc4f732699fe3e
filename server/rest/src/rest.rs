//! The contract that is served over REST, and its requests.

use std::sync::Arc;

use hyper::{
    Request, StatusCode,
    body::Bytes,
    header::{HeaderMap, HeaderValue, USER_AGENT},
};
use serde_json::{Map, Value, json};
use tabellion_gateway::{Access, Budget, Client, Gateway, Grant, Intake, RequestOrigin, Requester, rules};
use tabellion_runtime::{
    Contract, ContractSpec, KnownCaller, ToolSpec, openapi,
    schema::nearest,
    spec::{RestEndpoint, RestOperation},
};

use crate::{answer, refusal::Refusal};

/// A request to an endpoint, with the transport's data.
pub struct RestRequest {
    /// Path of the request, below that of the contract.
    pub path: String,
    /// Head and body.
    pub request: Request<Bytes>,
    /// Name of the request in the log.
    pub name: Arc<str>,
    /// The caller's permissions, if callers are authenticated.
    pub grant: Option<Arc<dyn Grant>>,
    /// The caller's remaining requests, if they are limited.
    pub budget: Option<Arc<dyn Budget>>,
}

/// The contract that is served over REST: the first of the gateway's contracts that declares endpoints.
pub struct Rest {
    pub(super) gateway: Arc<Gateway>,
    pub(super) intake: Arc<Intake>,
    /// The URL of the contract for clients, below which the endpoints are.
    pub(super) url: Option<Arc<str>>,
    pub(super) contract: &'static ContractSpec,
}

impl Rest {
    /// Serves the contract of `gateway` that declares endpoints; `None` if there is none.
    pub fn new(gateway: Arc<Gateway>, intake: Arc<Intake>, url: Option<Arc<str>>) -> Option<Self> {
        let contract = gateway.catalog().contracts().find(|contract| !contract.rest.is_empty())?;
        Some(Self { gateway, intake, url, contract })
    }

    /// Returns the gateway, which all clients of its contracts share.
    pub fn gateway(&self) -> &Arc<Gateway> {
        &self.gateway
    }

    /// Returns the endpoints.
    pub fn endpoints(&self) -> &'static [RestEndpoint] {
        self.contract.rest
    }

    /// Returns the body of the response to a refused request: JSON in the form of the contract's errors.
    pub fn refused(&self, refusal: &Refusal) -> Value {
        answer::refusal(self.contract, refusal)
    }

    /// Returns the description of the endpoints.
    pub fn openapi(&self) -> Value {
        let url = self.url.as_deref().unwrap_or_default();
        openapi::document(self.contract, url, &|tool| self.offers(tool))
    }

    /// Refuses a request to a path without an endpoint, and names those nearby.
    pub(super) fn nowhere(&self, asked: &RestRequest) -> Refusal {
        let path = asked.request.uri().path();
        let mount = path.strip_suffix(&*asked.path).unwrap_or_default();
        let first = |path: &'static str| path.split('/').nth(1).unwrap_or_default();
        let wanted = asked.path.split('/').nth(1).unwrap_or_default();
        let nearest = nearest(wanted, self.endpoints().iter().map(|endpoint| first(endpoint.path)));
        let is_near = |endpoint: &&RestEndpoint| {
            nearest == Some(first(endpoint.path)) || endpoint.is == RestOperation::OpenApi
        };
        let near = self.endpoints().iter().filter(is_near);
        let near: Vec<_> =
            near.map(|endpoint| format!("`{} {mount}{}`", endpoint.method, endpoint.path)).collect();
        let why =
            format!("nothing is served at that path; there are {}, and MCP at `{mount}`", near.join(", "));
        Refusal::new(StatusCode::NOT_FOUND, why)
    }

    pub(super) fn offers(&self, tool: &str) -> bool {
        self.gateway.catalog().offers(tool)
    }

    /// Returns the implementation of the contract.
    pub(super) fn service(&self) -> Result<&Arc<dyn Contract>, Refusal> {
        let service = self.gateway.catalog().contract(self.contract.id);
        service.ok_or_else(not_found)
    }

    /// Returns the tools that are offered.
    pub(super) fn listed(&self) -> Value {
        let tools = self.gateway.catalog().tools.iter();
        let tools = tools.filter(|route| route.contract.spec().id == self.contract.id);
        let tools: Vec<_> = tools.map(|route| listed_tool(self.contract, route.spec)).collect();
        json!({ "count": tools.len(), "tools": tools })
    }

    pub(super) fn origin(&self, asked: &RestRequest) -> RequestOrigin {
        let headers = asked.request.headers();
        let catalog = self.gateway.catalog();
        RequestOrigin {
            request: asked.name.clone(),
            grant: asked.grant.clone(),
            url: self.url.clone(),
            headers: catalog.read_headers(|name| headers.get_all(name).iter().map(HeaderValue::as_bytes)),
            budget: asked.budget.clone(),
        }
    }

    /// Returns the caller of a request that is not a call.
    ///
    /// # Errors
    /// If the caller is unknown.
    pub(super) fn caller(&self, asked: &RestRequest) -> Result<KnownCaller, Refusal> {
        let requester = Requester {
            origin: Some(&self.origin(asked)),
            client: client(asked.request.headers()),
            meta: &Map::new(),
        };
        let caller = self.gateway.known_caller(self.contract, &requester);
        caller.ok_or_else(|| {
            let why = "the caller is unknown; send a key or a token";
            Refusal::new(StatusCode::UNAUTHORIZED, why).because("missing")
        })
    }
}

/// Returns a tool's JSON for lists.
fn listed_tool(contract: &ContractSpec, tool: &'static ToolSpec) -> Value {
    let hints = tool.annotations;
    let mut listed = json!({
        "name": tool.name,
        "description": tool.description,
        "annotations": {
            "readOnlyHint": hints.read_only,
            "destructiveHint": hints.destructive,
            "idempotentHint": hints.idempotent,
            "openWorldHint": hints.open_world,
        },
        "rate_limit": rate_limit(contract, tool),
        "input_schema": tool.input.wire(),
        "output_schema": tool.output.wire(),
    });
    for (key, value) in rules(contract, tool).into_iter().flatten() {
        listed[key] = value;
    }
    listed
}

/// Returns the rate limit of a tool for each caller; `null` if it has none. Operations of a tool with separate limits are not listed.
fn rate_limit(contract: &ContractSpec, tool: &ToolSpec) -> Value {
    let limit = tool.rate_limit.and_then(|name| contract.rate_limits.iter().find(|limit| limit.name == name));
    limit.map_or(Value::Null, |limit| {
        json!({ "limit": limit.name, "requests": limit.calls, "seconds": limit.seconds, "per": limit.per })
    })
}

/// Counts a request that is not a call of a tool.
pub(super) fn counted(asked: &RestRequest, access: Access) -> Result<(), Refusal> {
    match asked.budget.as_ref().map(|budget| budget.take(access)) {
        Some(Err(wait)) => {
            let why = "too many requests in a minute; try again later";
            Err(Refusal::too_many(access.as_str(), why, wait))
        }
        _ => Ok(()),
    }
}

pub(super) fn not_found() -> Refusal {
    Refusal::new(StatusCode::NOT_FOUND, "nothing is served at that path")
}

/// Returns the name and version of the first product in `User-Agent`, as in `curl/8.5.0`.
pub(super) fn client(headers: &HeaderMap) -> Option<Client> {
    let agent = headers.get(USER_AGENT)?.to_str().ok()?;
    let (name, version) = agent.split_whitespace().next()?.split_once('/')?;
    Some(Client::new(name, version))
}
