//! The adapter between MCP and contracts. It names no tool, resource or prompt.
//!
//! It wraps a [`Handler`] and does two things that rmcp's handlers can't: it reads resources before their subscription is
//! acknowledged, and answers with a contract's error unchanged.

use std::{borrow::Cow, sync::Arc};

use rmcp::{
    ErrorData, RoleServer, Service,
    model::{ClientNotification, ClientRequest, ProtocolVersion, ServerConfig, ServerResult},
    service::{NotificationContext, RequestContext},
};
use tabellion_gateway::{Access, ApprovalPolicy, Gateway, LocalCaller, NameClash, Offer, RequestOrigin};
use tabellion_runtime::{Contract, Environment, calls::CallStore};
use tokio::sync::Semaphore;
use tracing::{Instrument as _, Span};

use super::{
    app::App,
    exact_error::ExactError,
    extension::Extension,
    handler::Handler,
    render,
    shared::{Era, ServerInfo},
};

/// Upper bound of subscriptions since 2026-07-28, where each is a request that stays in flight. It leaves most of the
/// requests in flight to other methods.
pub(super) const MAX_SUBSCRIPTIONS: usize = 64;

/// Contracts as an MCP server for one client.
pub struct Adapter {
    handler: Handler,
    extension: Option<Arc<dyn Extension>>,
    app: Option<Arc<App>>,
    subscriptions: Arc<Semaphore>,
}

impl Adapter {
    /// Creates an adapter for the parts of `contracts` that `offer` permits, in their order.
    ///
    /// # Errors
    /// If two contracts have a tool, resource or prompt of the same name.
    pub fn new(
        contracts: Vec<Arc<dyn Contract>>,
        offer: Offer,
        info: ServerInfo,
        approval: ApprovalPolicy,
    ) -> Result<Self, NameClash> {
        Ok(Self::over(Arc::new(Gateway::new(contracts, offer, approval)?), info))
    }

    /// Creates an adapter for the contracts of a gateway.
    pub fn over(gateway: Arc<Gateway>, info: ServerInfo) -> Self {
        Self {
            handler: Handler::new(gateway, info),
            extension: None,
            app: None,
            subscriptions: Arc::new(Semaphore::new(MAX_SUBSCRIPTIONS)),
        }
    }

    /// Sets the server's facts about the origin of calls. Only the first call of this has an effect.
    #[must_use]
    pub fn with_environment(self, environment: Arc<dyn Environment>) -> Self {
        self.gateway().set_environment(environment);
        self
    }

    /// Records calls in `store`, for contracts that require it. Only the first call of this has an effect.
    #[must_use]
    pub fn with_calls(self, store: Arc<dyn CallStore>) -> Self {
        self.gateway().set_call_store(store);
        self
    }

    /// Sets the caller on standard input and output. Only the first call of this has an effect.
    #[must_use]
    pub fn with_local_caller(self, caller: LocalCaller) -> Self {
        self.gateway().set_local_caller(caller);
        self
    }

    /// Answers requests outside the contracts.
    #[must_use]
    pub fn with_extension(mut self, extension: Arc<dyn Extension>) -> Self {
        self.extension = Some(extension);
        self
    }

    /// Offers an app to the clients that show apps.
    #[must_use]
    pub fn with_app(mut self, app: App) -> Self {
        self.app = Some(Arc::new(app));
        self
    }

    /// Returns the gateway, which all clients share.
    pub fn gateway(&self) -> &Arc<Gateway> {
        &self.handler.shared.gateway
    }

    /// Returns an adapter for another client. It has its own connection, and its own subscriptions in a session; limits and
    /// counts are shared.
    pub fn for_another(&self) -> Self {
        Self {
            handler: self.handler.for_another(),
            extension: self.extension.clone(),
            app: self.app.clone(),
            subscriptions: self.subscriptions.clone(),
        }
    }

    /// Returns the access that a request needs, for use before its contract is known.
    fn access(&self, request: &ClientRequest) -> Access {
        let ClientRequest::CallToolRequest(call) = request else {
            return Access::Read;
        };
        let route = self.gateway().catalog().tools.route(&call.params.name);
        let arguments = call.params.arguments.clone().unwrap_or_default();
        route.map_or(Access::Read, |route| Access::needed_by(route.spec, &arguments))
    }

    async fn answer(
        &self,
        request: ClientRequest,
        mut cx: RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        if let Some(origin) = cx.extensions.get::<RequestOrigin>() {
            origin.count(self.access(&request)).map_err(render::error)?;
        }
        let mut _subscription = None;
        if let ClientRequest::SubscriptionsListenRequest(request) = &request {
            let Ok(permit) = self.subscriptions.try_acquire() else {
                let message =
                    format!("there are {MAX_SUBSCRIPTIONS} subscriptions; cancel one before another");
                return Err(ErrorData::invalid_request(message, None));
            };
            _subscription = Some(permit);
            let watched = self.handler.watch(&request.params.notifications, &cx.extensions).await?;
            cx.extensions.insert(watched);
        }
        let app = self.app.as_ref().filter(|_| App::is_for(&cx));
        let beside = match app.and_then(|app| app.answer(&request)) {
            Some(answer) => Some(answer),
            None => match self.extension.as_ref().and_then(|extension| extension.answer(&request, &cx)) {
                Some(answer) => Some(answer.await?),
                None => None,
            },
        };
        if let Some(mut answer) = beside {
            let era = self.handler.era(&cx)?;
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
        if let (Some(app), Ok(answer)) = (app, &mut answer) {
            app.extend(answer).await;
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
        let origin = cx.extensions.get::<RequestOrigin>();
        let span = origin.map_or_else(Span::none, RequestOrigin::span);
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
