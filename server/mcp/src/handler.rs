//! What each method of MCP is answered with: lists from the [`Catalog`], all else from the contracts
//! ([`requests`](super::requests)).

use std::sync::{Arc, Mutex, PoisonError};

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::*,
    service::{RequestContext, SubscriptionContext},
};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::{
    adapter::{self, ServerInfo},
    approval::{ApprovalPolicy, Approvals},
    calls::Calls,
    catalog::Catalog,
    ending, render,
    watching::{Subscriptions, Watched},
};
use crate::access::Access;

/// For how long a client may take a list as it is. It never changes while a server runs; another version may
/// follow.
const FRESH_MS: u64 = 5 * 60 * 1000;
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// Contracts behind rmcp's methods, for one client.
#[derive(Clone)]
pub(super) struct Handler {
    pub(super) shared: Arc<Shared>,
    /// Those of the session.
    subscriptions: Arc<Mutex<Subscriptions>>,
}

/// What is the same for all clients.
pub(super) struct Shared {
    pub(super) catalog: Catalog,
    pub(super) approvals: Arc<Approvals>,
    pub(super) calls: Calls,
    config: ServerConfig,
    /// What results carry in `_meta` since 2026-07-28.
    signature: Value,
}

/// How the client of a request speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Era {
    /// In a session that `initialize` opened.
    Session,
    /// Each request on its own.
    Stateless,
}

impl Handler {
    pub(super) fn new(catalog: Catalog, info: ServerInfo, approval: ApprovalPolicy) -> Self {
        let signature = json!({ "name": info.name, "version": info.version });
        let server = Implementation::new(info.name, info.version);
        let mut config = ServerConfig::new(catalog.capabilities()).with_server_info(server);
        config.instructions = info.instructions;
        let shared = Arc::new(Shared {
            catalog,
            approvals: Arc::new(Approvals::new(approval)),
            calls: Calls::default(),
            config,
            signature,
        });
        Self {
            shared,
            subscriptions: Arc::default(),
        }
    }

    /// The same for another client.
    pub(super) fn for_another(&self) -> Self {
        Self {
            shared: self.shared.clone(),
            subscriptions: Arc::default(),
        }
    }

    /// Since 2026-07-28, results say who made them.
    pub(super) fn sign(&self, era: Era, meta: &mut Option<MetaObject>) {
        if era == Era::Stateless {
            meta.get_or_insert_default()
                .insert(SERVER_INFO.into(), self.shared.signature.clone());
        }
    }

    /// The resources that `filter` names and that there are, as they are now.
    ///
    /// # Errors
    /// When who makes the `request` may not read one of them.
    pub(super) async fn watch(
        &self,
        filter: &SubscriptionFilter,
        request: &Extensions,
    ) -> Result<Vec<Watched>, ErrorData> {
        let mut watched: Vec<Watched> = vec![];
        for uri in filter.resource_subscriptions.iter().flatten() {
            let route = self.shared.catalog.resources.route(uri);
            if let Some(route) = route.filter(|_| watched.iter().all(|other| other.uri() != uri)) {
                adapter::allow(request, route.contract.spec(), Access::Read)?;
                watched.push(Watched::begin(route).await);
            }
        }
        Ok(watched)
    }

    fn subscriptions(&self) -> std::sync::MutexGuard<'_, Subscriptions> {
        self.subscriptions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a contract has what `method` is for, and the client's era has the method.
    fn serves(&self, method: &str, era: Option<Era>) -> bool {
        let catalog = &self.shared.catalog;
        let in_session = era != Some(Era::Stateless);
        match method {
            DiscoverRequestMethod::VALUE => true,
            InitializeResultMethod::VALUE | PingRequestMethod::VALUE => in_session,
            SubscribeRequestMethod::VALUE | UnsubscribeRequestMethod::VALUE => {
                in_session && !catalog.resources.is_empty()
            }
            ListToolsRequestMethod::VALUE | CallToolRequestMethod::VALUE => !catalog.tools.is_empty(),
            ListResourcesRequestMethod::VALUE
            | ListResourceTemplatesRequestMethod::VALUE
            | ReadResourceRequestMethod::VALUE
            | SubscriptionsListenRequestMethod::VALUE => !catalog.resources.is_empty(),
            ListPromptsRequestMethod::VALUE | GetPromptRequestMethod::VALUE => !catalog.prompts.is_empty(),
            CompleteRequestMethod::VALUE => catalog.completes(),
            _ => false,
        }
    }

    /// How the client speaks, where the server has what `M` is for.
    pub(super) fn offered<M: ConstString>(&self, cx: &RequestContext<RoleServer>) -> Result<Era, ErrorData> {
        let era = era(cx);
        if !self.serves(M::VALUE, era) {
            return Err(ErrorData::method_not_found::<M>());
        }
        era.ok_or_else(|| {
            let message =
                "no protocol version: open a session with `initialize`, or name the version in `_meta`";
            ErrorData::invalid_params(message, None)
        })
    }
}

/// How the client of a request speaks, where that is known.
fn era(cx: &RequestContext<RoleServer>) -> Option<Era> {
    let is_session = cx.protocol_version()?.has_initialize();
    Some(if is_session { Era::Session } else { Era::Stateless })
}

/// The answer to the request `M` for a list, which has one page. rmcp's results for lists have only their fields in
/// common.
macro_rules! list {
    ($handler:expr, $cx:expr, $params:expr, $M:ty, $Result:ident, $items:expr) => {{
        let era = $handler.offered::<$M>(&$cx)?;
        one_page($params)?;
        let mut result = $Result::with_all_items($items);
        if era == Era::Stateless {
            result = result.with_ttl_ms(FRESH_MS).with_cache_scope(CacheScope::Public);
        }
        $handler.sign(era, &mut result.meta);
        Ok(result)
    }};
}

fn one_page(params: Option<PaginatedRequestParams>) -> Result<(), ErrorData> {
    match params.and_then(|params| params.cursor) {
        None => Ok(()),
        Some(_) => Err(ErrorData::invalid_params(
            "unknown `cursor`: the list has one page",
            None,
        )),
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        self.shared.config.clone()
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let mut listed = self.shared.catalog.tools.listed().iter();
        listed.find(|tool| tool.name == name).cloned()
    }

    /// As rmcp does it, but the session is the one that was agreed on, not the one that was asked for.
    async fn initialize(
        &self,
        mut params: InitializeRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        if era(&cx) == Some(Era::Stateless) {
            return Err(ErrorData::method_not_found::<InitializeResultMethod>());
        }
        let result = self.negotiate_initialize(&params)?;
        params.protocol_version = result.protocol_version.clone();
        cx.peer.set_peer_info(params);
        Ok(result)
    }

    async fn discover(&self, _: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        let versions = self.supported_protocol_versions().into_owned();
        let result = DiscoverResult::from_server_info(versions, self.get_info());
        Ok(result.with_ttl_ms(FRESH_MS).with_cache_scope(CacheScope::Public))
    }

    async fn list_tools(
        &self,
        params: Option<PaginatedRequestParams>,
        cx: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self.shared.catalog.tools.listed().to_vec();
        list!(self, cx, params, ListToolsRequestMethod, ListToolsResult, tools)
    }

    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let era = self.offered::<CallToolRequestMethod>(&cx)?;
        self.call(era, params, &cx).await
    }

    async fn list_resources(
        &self,
        params: Option<PaginatedRequestParams>,
        cx: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let resources = self.shared.catalog.resources.listed().to_vec();
        list!(
            self,
            cx,
            params,
            ListResourcesRequestMethod,
            ListResourcesResult,
            resources
        )
    }

    async fn list_resource_templates(
        &self,
        params: Option<PaginatedRequestParams>,
        cx: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        list!(
            self,
            cx,
            params,
            ListResourceTemplatesRequestMethod,
            ListResourceTemplatesResult,
            vec![]
        )
    }

    async fn read_resource(
        &self,
        params: ReadResourceRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let era = self.offered::<ReadResourceRequestMethod>(&cx)?;
        Ok(self.read(era, &params.uri, &cx).await?.into())
    }

    async fn subscribe(
        &self,
        params: SubscribeRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.offered::<SubscribeRequestMethod>(&cx)?;
        let route = self.shared.catalog.resources.route(&params.uri);
        let route = route.ok_or_else(|| render::unknown_resource(&params.uri))?;
        adapter::allow(&cx.extensions, route.contract.spec(), Access::Read)?;
        let watched = Watched::begin(route).await;
        self.subscriptions().add(watched, cx.peer);
        Ok(())
    }

    async fn unsubscribe(
        &self,
        params: UnsubscribeRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.offered::<UnsubscribeRequestMethod>(&cx)?;
        let route = self.shared.catalog.resources.route(&params.uri);
        route.ok_or_else(|| render::unknown_resource(&params.uri))?;
        self.subscriptions().remove(&params.uri);
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        let resources = &self.shared.catalog.resources;
        let requested = requested.resource_subscriptions.as_deref().unwrap_or_default();
        let uris = resources.listed().iter().map(|resource| &resource.uri);
        let known = uris.filter(|uri| requested.contains(uri));
        (!resources.is_empty()).then(|| {
            SubscriptionFilter::builder()
                .resource_subscriptions(known)
                .build()
        })
    }

    async fn listen(&self, subscription: SubscriptionContext) -> Result<(), ErrorData> {
        let cx = subscription.request_context();
        let mut updates = JoinSet::new();
        for mut watched in cx.extensions.get::<Vec<Watched>>().cloned().unwrap_or_default() {
            let sink = subscription.sink().clone();
            updates.spawn(async move {
                loop {
                    watched.changed().await;
                    if sink.notify_resource_updated(watched.uri()).await.is_err() {
                        return;
                    }
                }
            });
        }
        tokio::select! {
            () = subscription.cancelled() => {}
            () = ending::of(&cx.extensions) => {}
        }
        updates.shutdown().await;
        Ok(())
    }

    async fn list_prompts(
        &self,
        params: Option<PaginatedRequestParams>,
        cx: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let prompts = self.shared.catalog.prompts.listed().to_vec();
        list!(
            self,
            cx,
            params,
            ListPromptsRequestMethod,
            ListPromptsResult,
            prompts
        )
    }

    async fn get_prompt(
        &self,
        params: GetPromptRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let era = self.offered::<GetPromptRequestMethod>(&cx)?;
        Ok(self.prompt(era, params, &cx).await?.into())
    }

    async fn complete(
        &self,
        params: CompleteRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let era = self.offered::<CompleteRequestMethod>(&cx)?;
        self.completion(era, params, &cx).await
    }

    /// rmcp brings methods here that it doesn't know, and those that it knows with params that it can't read.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        cx: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        Err(if self.serves(&request.method, era(&cx)) {
            ErrorData::invalid_params(format!("malformed `params` for `{}`", request.method), None)
        } else {
            ErrorData::new(ErrorCode::METHOD_NOT_FOUND, request.method, None)
        })
    }
}
