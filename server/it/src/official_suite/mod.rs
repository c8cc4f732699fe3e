//! The server that MCP's official conformance suite expects, for `cargo lab mcp-conformance`.
//!
//! The contract has everything that a contract can declare. The rest is in `beside.json`: contents other than JSON, resource
//! templates, logging, questions without approval. [`Fixtures`] adds it to the answers of the contract, behind the same adapter
//! and transports as any other.

mod beside;
mod effects;
mod generated;
mod rounds;
mod suite;

use std::{collections::BTreeMap, error::Error};

use rmcp::{ErrorData, RoleServer, model::*, service::RequestContext};
use tabellion_mcp::Extension;
use tabellion_runtime::BoxFuture;

use self::{
    beside::{Beside, CallEffect},
    rounds::Repeated,
};

/// Serves `--library DIR` over HTTP at `--http ADDRESS`.
pub(crate) fn serve(arguments: impl Iterator<Item = String>) -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = arguments.collect();
    let options: BTreeMap<_, _> =
        arguments.chunks_exact(2).map(|pair| (pair[0].as_str(), &pair[1])).collect();
    let option = |name: &str| options.get(name).ok_or("usage: official-suite --library DIR --http ADDRESS");
    let server =
        tabellion_serve::Server::open("official-suite", env!("CARGO_PKG_VERSION"), *option("--library")?)?;
    let service = suite::service(server.library());
    server.with(service).extension(Fixtures(Beside::new())).serve_http(option("--http")?.parse()?)?;
    Ok(())
}

/// The suite's expectations that no contract can declare.
struct Fixtures(Beside);

impl Fixtures {
    async fn call(
        &self,
        params: &CallToolRequestParams,
        deed: &CallEffect,
        cx: &RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        let repeated =
            Repeated { state: params.request_state.clone(), responses: params.input_responses.clone() };
        if let Some(question) = self.0.question(deed, repeated, cx)? {
            return Ok(ServerResult::InputRequiredResult(question));
        }
        let arguments = params.arguments.clone().unwrap_or_default();
        effects::done(deed, &arguments, cx).await.map(ServerResult::CallToolResult)
    }

    fn prompt(
        &self,
        params: &GetPromptRequestParams,
        prompt: &beside::Text,
        cx: &RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        let repeated =
            Repeated { state: params.request_state.clone(), responses: params.input_responses.clone() };
        let question = match &prompt.deed {
            Some(deed) => self.0.question(deed, repeated, cx)?,
            None => None,
        };
        if let Some(question) = question {
            return Ok(ServerResult::InputRequiredResult(question));
        }
        let messages = prompt.messages(&params.arguments.clone().unwrap_or_default());
        Ok(ServerResult::GetPromptResult(GetPromptResult::new(messages)))
    }
}

impl Extension for Fixtures {
    fn answer<'a>(
        &'a self,
        request: &'a ClientRequest,
        cx: &'a RequestContext<RoleServer>,
    ) -> Option<BoxFuture<'a, Result<ServerResult, ErrorData>>> {
        match request {
            ClientRequest::SetLevelRequest(_) => {
                let in_session = cx.protocol_version().is_some_and(|version| version.has_initialize());
                in_session.then(|| -> BoxFuture<'a, _> { Box::pin(async { Ok(ServerResult::empty(())) }) })
            }
            ClientRequest::CallToolRequest(request) => {
                let tool = self.0.tool(&request.params.name)?;
                Some(Box::pin(self.call(&request.params, &tool.deed, cx)))
            }
            ClientRequest::ReadResourceRequest(request) => {
                let contents = self.0.read(&request.params.uri)?;
                let result = ReadResourceResult::new(vec![contents]);
                Some(Box::pin(async { Ok(ServerResult::ReadResourceResult(result)) }))
            }
            ClientRequest::GetPromptRequest(request) => {
                let prompt = self.0.prompt(&request.params.name)?;
                Some(Box::pin(async move { self.prompt(&request.params, prompt, cx) }))
            }
            _ => None,
        }
    }

    fn extend(&self, answer: &mut ServerResult) {
        let Beside { tools, resources, templates, prompts, .. } = &self.0;
        match answer {
            ServerResult::InitializeResult(result) => {
                result.capabilities.logging = Some(JsonObject::default())
            }
            ServerResult::DiscoverResult(result) => result.capabilities.logging = Some(JsonObject::default()),
            ServerResult::ListToolsResult(result) => {
                result.tools.extend(tools.iter().map(|tool| tool.listed.clone()));
            }
            ServerResult::ListResourcesResult(result) => {
                result.resources.extend(resources.iter().map(|resource| resource.listed.clone()));
            }
            ServerResult::ListResourceTemplatesResult(result) => {
                let listed = templates.iter().map(|template| template.listed.clone());
                result.resource_templates.extend(listed);
            }
            ServerResult::ListPromptsResult(result) => {
                result.prompts.extend(prompts.iter().map(|prompt| prompt.listed.clone()));
            }
            _ => {}
        }
    }
}
