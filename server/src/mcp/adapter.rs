//! The one adapter between MCP and contracts. It names no tool.

use std::{panic::AssertUnwindSafe, sync::Arc};

use futures_util::FutureExt as _;
use rmcp::{ErrorData, RoleServer, ServerHandler, model::*, service::RequestContext};
use serde_json::{Value, json};
use tabellion_schemas::{Answer, CallContext, Contract, Rejection};

use super::{
    catalog::{Catalog, NameClash, Route},
    render, waiting,
};

/// For how long a client may take a list as it is. It never changes while a server runs; another version may
/// follow.
const FRESH_MS: u64 = 5 * 60 * 1000;
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

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

/// Contracts as an MCP server: the tools that they have, and their calls.
#[derive(Clone)]
pub struct Adapter(Arc<Inner>);

struct Inner {
    catalog: Catalog,
    config: ServerConfig,
    /// What results carry in `_meta` since 2026-07-28.
    signature: Value,
}

/// How the client of a request speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Era {
    /// In a session that `initialize` opened.
    Session,
    /// Each request on its own.
    Stateless,
}

impl Adapter {
    /// Serves the tools of `contracts`, in their order.
    ///
    /// # Errors
    /// When two of them have a tool of the same name.
    pub fn new(contracts: Vec<Arc<dyn Contract>>, info: ServerInfo) -> Result<Self, NameClash> {
        let catalog = Catalog::new(contracts)?;
        let signature = json!({ "name": info.name, "version": info.version });
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        let mut config =
            ServerConfig::new(capabilities).with_server_info(Implementation::new(info.name, info.version));
        config.instructions = info.instructions;
        Ok(Self(Arc::new(Inner {
            catalog,
            config,
            signature,
        })))
    }

    async fn call(
        &self,
        route: &Route,
        arguments: Value,
        cx: &RequestContext<RoleServer>,
    ) -> Result<Answer, Rejection> {
        let client = cx
            .client_info()
            .map(|client| format!("{}/{}", client.name, client.version));
        let call = match CallContext::from_meta(client, &cx.meta) {
            Ok(call) => call,
            Err(violations) => return Err(render::bad_conditions(route.contract.spec(), &violations)),
        };
        let (client, reports) = waiting::client(cx);
        let call = call.with_caller(client);
        // rmcp would leave the request of a handler that panics unanswered for ever. Nothing of it is used again.
        let answer = AssertUnwindSafe(route.contract.call(&call, route.tool.name, arguments))
            .catch_unwind()
            .await;
        reports.end().await;
        answer.unwrap_or_else(|_| Err(render::panicked(route.tool)))
    }

    /// Since 2026-07-28, results say who made them.
    fn sign(&self, era: Era, meta: &mut Option<MetaObject>) {
        if era == Era::Stateless {
            meta.get_or_insert_default()
                .insert(SERVER_INFO.into(), self.0.signature.clone());
        }
    }
}

fn era(cx: &RequestContext<RoleServer>) -> Result<Era, ErrorData> {
    match cx.protocol_version() {
        Some(version) if version.has_initialize() => Ok(Era::Session),
        Some(_) => Ok(Era::Stateless),
        None => {
            let message =
                "no protocol version: open a session with `initialize`, or name the version in `_meta`";
            Err(ErrorData::invalid_params(message, None))
        }
    }
}

fn not_offered<M: ConstString, T>() -> Result<T, ErrorData> {
    Err(ErrorData::method_not_found::<M>())
}

impl ServerHandler for Adapter {
    fn get_info(&self) -> ServerConfig {
        self.0.config.clone()
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.0
            .catalog
            .listed()
            .iter()
            .find(|tool| tool.name == name)
            .cloned()
    }

    /// As rmcp does it, but the session is the one that was agreed on, not the one that was asked for.
    async fn initialize(
        &self,
        mut params: InitializeRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
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
        let era = era(&cx)?;
        if params.is_some_and(|params| params.cursor.is_some()) {
            return Err(ErrorData::invalid_params(
                "unknown `cursor`: the list has one page",
                None,
            ));
        }
        let mut result = ListToolsResult::with_all_items(self.0.catalog.listed().to_vec());
        if era == Era::Stateless {
            result = result.with_ttl_ms(FRESH_MS).with_cache_scope(CacheScope::Public);
        }
        self.sign(era, &mut result.meta);
        Ok(result)
    }

    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let era = era(&cx)?;
        let Some(route) = self.0.catalog.route(&params.name) else {
            return Err(render::unknown_tool(&params.name));
        };
        let arguments = Value::Object(params.arguments.unwrap_or_default());
        let outcome = self.call(route, arguments, &cx).await;
        let mut result = render::outcome(route.contract.spec(), route.tool.name, outcome)?;
        self.sign(era, &mut result.meta);
        Ok(result.into())
    }

    /// rmcp brings methods here that it doesn't know, and those that it knows with params that it can't read.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        const SERVED: [&str; 5] = [
            InitializeResultMethod::VALUE,
            DiscoverRequestMethod::VALUE,
            PingRequestMethod::VALUE,
            ListToolsRequestMethod::VALUE,
            CallToolRequestMethod::VALUE,
        ];
        Err(if SERVED.contains(&request.method.as_str()) {
            ErrorData::invalid_params(format!("malformed `params` for `{}`", request.method), None)
        } else {
            ErrorData::new(ErrorCode::METHOD_NOT_FOUND, request.method, None)
        })
    }

    // What rmcp would answer with an empty result, as if it were offered.

    async fn complete(
        &self,
        _: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        not_offered::<CompleteRequestMethod, _>()
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        not_offered::<ListPromptsRequestMethod, _>()
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        not_offered::<ListResourcesRequestMethod, _>()
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        not_offered::<ListResourceTemplatesRequestMethod, _>()
    }
}
