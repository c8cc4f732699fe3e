//! Answers each method of MCP: from the [`Lists`](crate::lists::Lists), or through [`requests`].

use std::sync::Arc;

use parking_lot::Mutex;
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::*,
    service::{RequestContext, SubscriptionContext},
};
use tabellion_gateway::{FoundResource, Gateway, connection};
use tabellion_runtime::Connection;
use tokio::task::JoinSet;

use super::{
    client_info, ending, render, requests,
    shared::{Era, ServerInfo, Shared},
    watching::{MAX_WATCHED, Subscriptions, WatchedResource},
};

/// Lifetime of lists in the client's cache. Lists never change while the server runs, but a newer version may follow.
const FRESH_MS: u64 = 5 * 60 * 1000;

/// Contracts behind rmcp's methods, for one client.
#[derive(Clone)]
pub(super) struct Handler {
    pub(super) shared: Arc<Shared>,
    /// The subscriptions of this client's session.
    subscriptions: Arc<Mutex<Subscriptions>>,
    /// The connection that this client's calls share.
    connection: Arc<ClientConnection>,
}

/// A client's connection, whose session ends with it.
struct ClientConnection {
    connection: Arc<Connection>,
    shared: Arc<Shared>,
}

impl Drop for ClientConnection {
    fn drop(&mut self) {
        if let (Some(store), true) = (self.shared.gateway.call_store(), self.connection.has_session()) {
            store.end_connection(self.connection.id());
        }
    }
}

impl Handler {
    pub(super) fn new(gateway: Arc<Gateway>, info: ServerInfo) -> Self {
        Self::over(Arc::new(Shared::new(gateway, info)))
    }

    /// Returns a handler for another client.
    pub(super) fn for_another(&self) -> Self {
        Self::over(self.shared.clone())
    }

    fn over(shared: Arc<Shared>) -> Self {
        Self {
            connection: Arc::new(ClientConnection { connection: connection(), shared: shared.clone() }),
            subscriptions: Arc::default(),
            shared,
        }
    }

    /// Returns the existing resources that `filter` names, at their current versions.
    ///
    /// # Errors
    /// If the caller of `request` may not read one of them.
    pub(super) async fn watch(
        &self,
        filter: &SubscriptionFilter,
        request: &Extensions,
    ) -> Result<Vec<WatchedResource>, ErrorData> {
        let mut watched: Vec<WatchedResource> = vec![];
        for uri in filter.resource_subscriptions.iter().flatten() {
            let route = self.shared.gateway.catalog().resource(uri);
            if let Some(route) = route.filter(|_| watched.iter().all(|other| other.uri() != uri)) {
                self.check_watched(&route, request)?;
                if watched.len() == MAX_WATCHED {
                    return Err(too_many_subscriptions());
                }
                watched.push(WatchedResource::begin(uri, route).await);
            }
        }
        Ok(watched)
    }

    /// Checks that the caller of `request` may be notified of changes of a resource.
    fn check_watched(&self, route: &FoundResource<'_>, request: &Extensions) -> Result<(), ErrorData> {
        let meta = JsonObject::new();
        let requester = requests::anonymous(request, &meta);
        let allowed = self.shared.gateway.may_watch(route.contract.spec(), route.spec.name, &requester);
        allowed.map_err(render::error)
    }

    /// Returns true if a contract uses `method` and the method exists in the client's era.
    fn serves(&self, method: &str, era: Option<Era>) -> bool {
        let catalog = self.shared.gateway.catalog();
        let in_session = era != Some(Era::Stateless);
        match method {
            DiscoverRequestMethod::VALUE => true,
            InitializeResultMethod::VALUE | PingRequestMethod::VALUE => in_session,
            SubscribeRequestMethod::VALUE | UnsubscribeRequestMethod::VALUE => {
                in_session && catalog.has_resources()
            }
            ListToolsRequestMethod::VALUE | CallToolRequestMethod::VALUE => !catalog.tools.is_empty(),
            ListResourcesRequestMethod::VALUE
            | ListResourceTemplatesRequestMethod::VALUE
            | ReadResourceRequestMethod::VALUE
            | SubscriptionsListenRequestMethod::VALUE => catalog.has_resources(),
            ListPromptsRequestMethod::VALUE | GetPromptRequestMethod::VALUE => !catalog.prompts.is_empty(),
            CompleteRequestMethod::VALUE => catalog.completes(),
            _ => false,
        }
    }

    /// Returns the client's era if the server offers the method `M`.
    pub(super) fn offered<M: ConstString>(&self, cx: &RequestContext<RoleServer>) -> Result<Era, ErrorData> {
        let era = era(cx);
        if !self.serves(M::VALUE, era) {
            return Err(ErrorData::method_not_found::<M>());
        }
        self.era(cx)
    }

    /// Returns the client's era.
    ///
    /// # Errors
    /// If the client has not declared it.
    pub(super) fn era(&self, cx: &RequestContext<RoleServer>) -> Result<Era, ErrorData> {
        era(cx).ok_or_else(|| {
            let message =
                "no protocol version: open a session with `initialize`, or name the version in `_meta`";
            ErrorData::invalid_params(message, None)
        })
    }
}

/// Returns the client's era, if known.
fn era(cx: &RequestContext<RoleServer>) -> Option<Era> {
    let is_session = cx.protocol_version()?.has_initialize();
    Some(if is_session { Era::Session } else { Era::Stateless })
}

/// Answers the request `M` for a list of one page. A macro, because rmcp's list results share fields but no trait.
macro_rules! list {
    ($handler:expr, $cx:expr, $params:expr, $M:ty, $Result:ident, $items:expr) => {{
        let era = $handler.offered::<$M>(&$cx)?;
        one_page($params)?;
        let mut result = $Result::with_all_items($items);
        if era == Era::Stateless {
            result = result.with_ttl_ms(FRESH_MS).with_cache_scope(CacheScope::Public);
        }
        $handler.shared.sign(era, &mut result.meta);
        Ok(result)
    }};
}

fn too_many_subscriptions() -> ErrorData {
    let message = format!("at most {MAX_WATCHED} resources can be subscribed to; unsubscribe from one first");
    ErrorData::invalid_params(message, None)
}

fn one_page(params: Option<PaginatedRequestParams>) -> Result<(), ErrorData> {
    match params.and_then(|params| params.cursor) {
        None => Ok(()),
        Some(_) => Err(ErrorData::invalid_params("unknown `cursor`: the list has one page", None)),
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        self.shared.config.clone()
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let mut listed = self.shared.lists.tools.iter();
        listed.find(|tool| tool.name == name).cloned()
    }

    /// As in rmcp, but stores the negotiated protocol version instead of the requested one.
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
        cx.peer.set_peer_info(client_info::trim(params));
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
        let tools = self.shared.lists.tools.clone();
        list!(self, cx, params, ListToolsRequestMethod, ListToolsResult, tools)
    }

    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let era = self.offered::<CallToolRequestMethod>(&cx)?;
        requests::call(&self.shared, &self.connection.connection, era, params, &cx).await
    }

    async fn list_resources(
        &self,
        params: Option<PaginatedRequestParams>,
        cx: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let resources = self.shared.lists.resources.clone();
        list!(self, cx, params, ListResourcesRequestMethod, ListResourcesResult, resources)
    }

    async fn list_resource_templates(
        &self,
        params: Option<PaginatedRequestParams>,
        cx: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let templates = self.shared.lists.templates.clone();
        list!(self, cx, params, ListResourceTemplatesRequestMethod, ListResourceTemplatesResult, templates)
    }

    async fn read_resource(
        &self,
        params: ReadResourceRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let era = self.offered::<ReadResourceRequestMethod>(&cx)?;
        Ok(requests::read(&self.shared, era, &params.uri, &cx).await?.into())
    }

    async fn subscribe(
        &self,
        params: SubscribeRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.offered::<SubscribeRequestMethod>(&cx)?;
        let route = self.shared.gateway.catalog().resource(&params.uri);
        let route = route.ok_or_else(|| render::unknown_resource(&params.uri))?;
        self.check_watched(&route, &cx.extensions)?;
        let watched = WatchedResource::begin(&params.uri, route).await;
        let is_added = self.subscriptions.lock().add(watched, cx.peer);
        is_added.then_some(()).ok_or_else(too_many_subscriptions)
    }

    async fn unsubscribe(
        &self,
        params: UnsubscribeRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.offered::<UnsubscribeRequestMethod>(&cx)?;
        let route = self.shared.gateway.catalog().resource(&params.uri);
        route.ok_or_else(|| render::unknown_resource(&params.uri))?;
        self.subscriptions.lock().remove(&params.uri);
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        let catalog = self.shared.gateway.catalog();
        let requested = requested.resource_subscriptions.as_deref().unwrap_or_default();
        let uris = self.shared.lists.resources.iter().map(|resource| &resource.uri);
        let fixed = uris.filter(|uri| requested.contains(uri));
        let has_template =
            |uri: &&String| catalog.resource(uri).is_some_and(|found| found.variables.is_some());
        let known = fixed.chain(requested.iter().filter(has_template));
        catalog.has_resources().then(|| SubscriptionFilter::builder().resource_subscriptions(known).build())
    }

    async fn listen(&self, subscription: SubscriptionContext) -> Result<(), ErrorData> {
        let cx = subscription.request_context();
        let mut updates = JoinSet::new();
        for mut watched in cx.extensions.get::<Vec<WatchedResource>>().cloned().unwrap_or_default() {
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
            _ = ending::wait(&cx.extensions) => {}
        }
        updates.shutdown().await;
        Ok(())
    }

    async fn list_prompts(
        &self,
        params: Option<PaginatedRequestParams>,
        cx: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let prompts = self.shared.lists.prompts.clone();
        list!(self, cx, params, ListPromptsRequestMethod, ListPromptsResult, prompts)
    }

    async fn get_prompt(
        &self,
        params: GetPromptRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let era = self.offered::<GetPromptRequestMethod>(&cx)?;
        Ok(requests::prompt(&self.shared, era, params, &cx).await?.into())
    }

    async fn complete(
        &self,
        params: CompleteRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let era = self.offered::<CompleteRequestMethod>(&cx)?;
        requests::completion(&self.shared, era, params, &cx).await
    }

    /// Receives methods that rmcp does not know, and known ones with malformed params.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        cx: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        Err(if self.serves(&request.method, era(&cx)) {
            let why =
                request.params.as_ref().and_then(serde_json::Value::as_str).map(|why| format!(": {why}"));
            let why = why.unwrap_or_default();
            ErrorData::invalid_params(format!("malformed `params` for `{}`{why}", request.method), None)
        } else {
            ErrorData::new(ErrorCode::METHOD_NOT_FOUND, request.method, None)
        })
    }
}
