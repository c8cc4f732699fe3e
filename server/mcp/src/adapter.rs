//! The one adapter between MCP and contracts. It names no tool, no resource and no prompt.
//!
//! It is a [`Handler`] and, around it, what rmcp's handlers can't do: to look at resources before their subscription
//! is acknowledged, and to answer with an error exactly as it is.

use std::{
    borrow::Cow,
    sync::{Arc, OnceLock},
};

use rmcp::{
    ErrorData, RoleServer, Service,
    model::{
        ClientNotification, ClientRequest, ErrorCode, Extensions, ProtocolVersion, ServerConfig, ServerResult,
    },
    service::{NotificationContext, RequestContext},
};
use serde_json::json;
use tabellion_runtime::{Contract, ContractSpec, rates::RETRY_AFTER, token_bucket::seconds};
use tokio::sync::Semaphore;
use tracing::{Instrument as _, Span};

#[cfg(feature = "fixtures")]
use super::fixtures::Fixtures as Handler;
#[cfg(not(feature = "fixtures"))]
use super::handler::Handler;
use super::{
    approval::ApprovalPolicy,
    calls::Calls,
    catalog::{Catalog, NameClash, Offer},
};
use crate::{
    access::Budget,
    access::{Access, Grant},
};

/// How many subscriptions there may be since 2026-07-28, where each is a request that lasts. Enough of the requests
/// that may be in flight must be left for all others.
pub(super) const MOST_SUBSCRIPTIONS: usize = 64;

/// What a server says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerInfo {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// How to use it, for the model.
    pub instructions: Option<String>,
}

/// Contracts as an MCP server for one client.
pub struct Adapter {
    handler: Handler,
    subscriptions: Arc<Semaphore>,
}

/// What a transport knows of a request beside its message.
#[derive(Debug, Clone)]
pub(super) struct Provenance {
    /// The request's name in the log.
    pub(super) request: Arc<str>,
    /// Who makes it and what they may do; where nobody is asked who they are, everybody may do everything.
    pub(super) grant: Option<Arc<dyn Grant>>,
    /// How often they may; as often as they like where it isn't counted.
    pub(super) budget: Option<Arc<dyn Budget>>,
}

/// The code of the error that somebody is answered with who may not do what they want to do.
pub(super) const FORBIDDEN: ErrorCode = ErrorCode(403);
/// The code of the error that somebody is answered with who does something too often.
pub(super) const TOO_MANY: ErrorCode = ErrorCode(429);

/// Who makes a request, where that is known.
pub(super) fn grant(request: &Extensions) -> Option<&Arc<dyn Grant>> {
    request.get::<Provenance>()?.grant.as_ref()
}

/// Whose call a request is, where callers are told apart.
pub(super) fn counted_as(request: &Extensions) -> Option<&Arc<str>> {
    let budget = request.get::<Provenance>()?.budget.as_ref();
    budget.map(|budget| budget.caller())
}

/// Refuses what who makes the request may not do in this contract.
pub(super) fn allow(request: &Extensions, contract: &ContractSpec, access: Access) -> Result<(), ErrorData> {
    let Some(grant) = grant(request).filter(|grant| !grant.allows(contract.id, access)) else {
        return Ok(());
    };
    let needed = access.as_str();
    let message = format!(
        "{} may not do this; it takes a key or a token with the scope `{needed}:{}`",
        grant.author().name,
        contract.id
    );
    Err(ErrorData::new(
        FORBIDDEN,
        message,
        Some(json!({ "scope": needed })),
    ))
}

/// Refuses what who makes the request does too often; otherwise, it is counted.
fn count(request: &Extensions, access: Access) -> Result<(), ErrorData> {
    let budget = request.get::<Provenance>().and_then(|it| it.budget.as_ref());
    let Some(Err(wait)) = budget.map(|budget| budget.take(access)) else {
        return Ok(());
    };
    let seconds = seconds(wait);
    let message = format!("too many requests in a minute; nothing was done, try again in {seconds} s");
    Err(ErrorData::new(
        TOO_MANY,
        message,
        Some(json!({ RETRY_AFTER: seconds })),
    ))
}

/// The error that a request is to be answered with, as it is. rmcp would make -32002 of contracts something else.
#[derive(Clone, Default)]
pub(super) struct Verbatim(Arc<OnceLock<ErrorData>>);

impl Verbatim {
    /// The error, on its way through rmcp.
    pub(super) fn error(cx: &RequestContext<RoleServer>, error: ErrorData) -> ErrorData {
        if let Some(Self(place)) = cx.extensions.get() {
            // One request has one answer.
            let _ = place.set(error.clone());
        }
        error
    }
}

impl Adapter {
    /// Serves what `contracts` have and is offered, in their order.
    ///
    /// # Errors
    /// When two of them have a tool, a resource or a prompt of the same name.
    pub fn new(
        contracts: Vec<Arc<dyn Contract>>,
        offer: Offer,
        info: ServerInfo,
        approval: ApprovalPolicy,
    ) -> Result<Self, NameClash> {
        let handler = Handler::new(Catalog::new(contracts, offer)?, info, approval);
        let subscriptions = Arc::new(Semaphore::new(MOST_SUBSCRIPTIONS));
        Ok(Self {
            handler,
            subscriptions,
        })
    }

    /// The same for another client, which has subscriptions of its own. What is limited is limited for all together.
    pub fn for_another(&self) -> Self {
        Self {
            handler: self.handler.for_another(),
            subscriptions: self.subscriptions.clone(),
        }
    }

    /// The calls of all clients.
    pub(super) fn calls(&self) -> &Calls {
        &self.handler.shared.calls
    }

    /// Whether a request is for a change, or only looks.
    fn access(&self, request: &ClientRequest) -> Access {
        let tool = match request {
            ClientRequest::CallToolRequest(call) => {
                self.handler.shared.catalog.tools.route(&call.params.name)
            }
            _ => None,
        };
        match tool {
            Some(route) if route.spec.mutating => Access::Write,
            _ => Access::Read,
        }
    }

    async fn answer(
        &self,
        request: ClientRequest,
        mut cx: RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        count(&cx.extensions, self.access(&request))?;
        let mut _subscription = None;
        if let ClientRequest::SubscriptionsListenRequest(request) = &request {
            let Ok(place) = self.subscriptions.try_acquire() else {
                let message =
                    format!("there are {MOST_SUBSCRIPTIONS} subscriptions; cancel one before another");
                return Err(ErrorData::invalid_request(message, None));
            };
            _subscription = Some(place);
            let watched = self
                .handler
                .watch(&request.params.notifications, &cx.extensions)
                .await?;
            cx.extensions.insert(watched);
        }
        let verbatim = Verbatim::default();
        cx.extensions.insert(verbatim.clone());
        let answer = self.handler.handle_request(request, cx).await;
        answer.map_err(|error| verbatim.0.get().cloned().unwrap_or(error))
    }
}

impl Service<RoleServer> for Adapter {
    async fn handle_request(
        &self,
        request: ClientRequest,
        cx: RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        // Of the highest level, so that it is there whatever is logged.
        let span = match cx.extensions.get::<Provenance>() {
            Some(Provenance { request, grant, .. }) => {
                let key = grant.as_ref().map(|grant| grant.id());
                tracing::error_span!("request", id = %request, key)
            }
            None => Span::none(),
        };
        self.answer(request, cx).instrument(span).await
    }

    async fn handle_notification(
        &self,
        notification: ClientNotification,
        cx: NotificationContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.handler.handle_notification(notification, cx).await
    }

    fn get_info(&self) -> ServerConfig {
        Service::get_info(&self.handler)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Service::supported_protocol_versions(&self.handler)
    }
}
