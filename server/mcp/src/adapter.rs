//! The adapter between MCP and contracts. It names no tool, resource or prompt.
//!
//! It wraps a [`Handler`] and does what rmcp's handlers can't: it reads resources before their subscription is acknowledged,
//! and answers with a contract's error unchanged.

use std::{borrow::Cow, sync::Arc};

use rmcp::{
    ErrorData, RoleServer, Service,
    model::{ClientNotification, ClientRequest, Extensions, ProtocolVersion, ServerConfig, ServerResult},
    service::{NotificationContext, RequestContext},
};
use serde_json::Value;
use tabellion_runtime::{Contract, ContractSpec, Environment, calls::CallStore};
use tokio::sync::Semaphore;
use tracing::{Instrument as _, Span};

use super::{
    approval::ApprovalPolicy,
    caller::LocalCaller,
    calls::Calls,
    catalog::{Catalog, NameClash, Offer},
    exact_error::ExactError,
    extension::Extension,
    handler::Handler,
    request_origin::{self, RequestOrigin},
    shared::{Era, ServerInfo, Shared},
};
use crate::access::Access;

/// Upper bound of subscriptions since 2026-07-28, where each is a request that stays in flight. It leaves most of the
/// requests in flight to other methods.
pub(super) const MAX_SUBSCRIPTIONS: usize = 64;

/// Contracts as an MCP server for one client.
pub struct Adapter {
    handler: Handler,
    extension: Option<Arc<dyn Extension>>,
    subscriptions: Arc<Semaphore>,
}

impl Adapter {
    /// Creates an adapter for what `offer` permits of `contracts`, in their order.
    ///
    /// # Errors
    /// If two contracts have a tool, resource or prompt of the same name.
    pub fn new(
        contracts: Vec<Arc<dyn Contract>>,
        offer: Offer,
        info: ServerInfo,
        approval: ApprovalPolicy,
    ) -> Result<Self, NameClash> {
        let handler = Handler::new(Catalog::new(contracts, offer)?, info, approval);
        let subscriptions = Arc::new(Semaphore::new(MAX_SUBSCRIPTIONS));
        Ok(Self {
            handler,
            extension: None,
            subscriptions,
        })
    }

    /// Gives calls what the server knows that no request says. Only the first call of this has an effect.
    #[must_use]
    pub fn with_environment(self, environment: Arc<dyn Environment>) -> Self {
        let _ = self.handler.shared.environment.set(environment);
        self
    }

    /// Keeps calls in `store`, of contracts that want it. Only the first call of this has an effect.
    #[must_use]
    pub fn with_calls(self, store: Arc<dyn CallStore>) -> Self {
        let _ = self.handler.shared.call_store.set(store);
        self
    }

    /// Says who calls on standard input and output. Only the first call of this has an effect.
    #[must_use]
    pub fn with_local_caller(self, caller: LocalCaller) -> Self {
        let _ = self.handler.shared.local_caller.set(caller);
        self
    }

    /// Answers some requests beside the contracts.
    #[must_use]
    pub fn with_extension(mut self, extension: Arc<dyn Extension>) -> Self {
        self.extension = Some(extension);
        self
    }

    /// Returns the declarations of the contracts, in their order.
    pub fn contracts(&self) -> Vec<&'static ContractSpec> {
        self.handler.shared.catalog.contracts().to_vec()
    }

    /// Returns true if clients are offered this tool, or what an endpoint of REST calls.
    pub(super) fn offers(&self, tool: &str) -> bool {
        self.handler.shared.catalog.offers(tool)
    }

    /// Returns the tools of a contract that clients are offered, as they are listed over REST.
    pub(super) fn listed(&self, contract: &ContractSpec) -> Value {
        self.handler.shared.catalog.listed_over_rest(contract)
    }

    /// Returns the names of the HTTP headers that a contract reads.
    pub(super) fn headers(&self) -> impl Iterator<Item = &'static str> {
        self.handler.shared.catalog.headers()
    }

    /// Returns an adapter for another client. It has its own connection, and its own subscriptions in a session; limits and
    /// counts are shared.
    pub fn for_another(&self) -> Self {
        Self {
            handler: self.handler.for_another(),
            extension: self.extension.clone(),
            subscriptions: self.subscriptions.clone(),
        }
    }

    /// Returns the call counts of all clients.
    pub(super) fn calls(&self) -> &Calls {
        &self.handler.shared.calls
    }

    /// Returns what all clients share.
    pub(super) fn shared(&self) -> &Shared {
        &self.handler.shared
    }

    /// Returns the access that a request needs before its contract is known.
    fn access(&self, request: &ClientRequest, extensions: &Extensions) -> Access {
        let ClientRequest::CallToolRequest(call) = request else {
            return Access::Read;
        };
        let catalog = &self.handler.shared.catalog;
        let route = catalog.called(&call.params.name, extensions);
        let arguments = call.params.arguments.as_ref();
        route.map_or(Access::Read, |route| Access::of(route.spec, arguments))
    }

    async fn answer(
        &self,
        request: ClientRequest,
        mut cx: RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        request_origin::count(&cx.extensions, self.access(&request, &cx.extensions))?;
        let mut _subscription = None;
        if let ClientRequest::SubscriptionsListenRequest(request) = &request {
            let Ok(permit) = self.subscriptions.try_acquire() else {
                let message =
                    format!("there are {MAX_SUBSCRIPTIONS} subscriptions; cancel one before another");
                return Err(ErrorData::invalid_request(message, None));
            };
            _subscription = Some(permit);
            let watched = self
                .handler
                .watch(&request.params.notifications, &cx.extensions)
                .await?;
            cx.extensions.insert(watched);
        }
        if let Some(extension) = &self.extension
            && let Some(answer) = extension.answer(&request, &cx)
        {
            let era = self.handler.era(&cx)?;
            let mut answer = answer.await?;
            let meta = match &mut answer {
                ServerResult::CallToolResult(result) => Some(&mut result.meta),
                ServerResult::GetPromptResult(result) => Some(&mut result.meta),
                ServerResult::ReadResourceResult(result) => Some(&mut result.meta),
                ServerResult::InputRequiredResult(result) => Some(&mut result.meta),
                _ => None,
            };
            if let Some(meta) = meta {
                self.handler.shared.sign(era, meta);
            }
            // As rmcp does for the answers of handlers.
            match era {
                Era::Session => answer.strip_result_type_for_legacy_peer(),
                Era::Stateless => answer.fill_missing_cache_hints(),
            }
            return Ok(answer);
        }
        let exact_error = ExactError::default();
        cx.extensions.insert(exact_error.clone());
        let mut answer = self.handler.handle_request(request, cx).await;
        if let (Some(extension), Ok(answer)) = (&self.extension, &mut answer) {
            extension.extend(answer);
        }
        answer.map_err(|error| exact_error.or(error))
    }
}

impl Service<RoleServer> for Adapter {
    async fn handle_request(
        &self,
        request: ClientRequest,
        cx: RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        // At the highest level, so that the span exists whatever the log's filter is.
        let span = match cx.extensions.get::<RequestOrigin>() {
            Some(RequestOrigin { request, grant, .. }) => {
                let caller = grant.as_ref().map(|grant| grant.identity().to_string());
                tracing::error_span!("request", id = %request, caller)
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
