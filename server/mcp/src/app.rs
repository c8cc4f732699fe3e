//! The app of reviews (MCP Apps, 2026-01-26): a client shows it, in a separate frame, next to the answer of a pending change.
//!
//! It shows the proposal and links to its review, but can't approve: clients may make an app's calls without asking, so an approval
//! from one would not prove that a person gave it.

use rmcp::{
    RoleServer,
    model::{
        ClientCapabilities, ClientRequest, ExtensionCapabilities, JsonObject, MetaObject, ReadResourceResult,
        Resource, ResourceContents, ServerResult,
    },
    service::RequestContext,
};
use serde_json::{Value, json};
use tabellion_runtime::{BoxFuture, meta::REVIEW};

/// Name of the extension that clients declare if they support apps.
const EXTENSION: &str = "io.modelcontextprotocol/ui";
const URI: &str = "ui://tabellion/review";
const MEDIA_TYPE: &str = "text/html;profile=mcp-app";
/// Member of [`REVIEW`] with the proposed change, as HTML.
const CHANGES: &str = "html";

/// Draws the change that the workflow's instance with this id proposes, as HTML; `None` if it can't be shown.
pub type DrawChanges = Box<dyn Fn(String) -> BoxFuture<'static, Option<String>> + Send + Sync>;

/// The app, and the tools next to whose answers it is shown.
pub struct App {
    /// The whole page, without external resources.
    pub page: String,
    /// Names of the tools.
    pub tools: &'static [&'static str],
    /// Draws the changes for the page.
    pub draw: DrawChanges,
}

/// Returns the declaration that a client supports apps, without its details.
pub(super) fn declared(capabilities: &ClientCapabilities) -> Option<ExtensionCapabilities> {
    capabilities.extensions.as_ref()?.get(EXTENSION)?;
    Some([(EXTENSION.to_owned(), JsonObject::new())].into_iter().collect())
}

impl App {
    /// Returns true if the client of a request supports apps.
    pub(super) fn is_for(cx: &RequestContext<RoleServer>) -> bool {
        let capabilities = cx.client_capabilities();
        capabilities.is_some_and(|capabilities| declared(&capabilities).is_some())
    }

    /// Returns the answer to a request that reads the app.
    pub(super) fn answer(&self, request: &ClientRequest) -> Option<ServerResult> {
        let ClientRequest::ReadResourceRequest(request) = request else {
            return None;
        };
        (request.params.uri == URI).then(|| {
            let content = ResourceContents::text(self.page.clone(), URI).with_mime_type(MEDIA_TYPE);
            ServerResult::ReadResourceResult(ReadResourceResult::new(vec![content]))
        })
    }

    /// Adds the app to lists, and its data to the answer of a call.
    pub(super) async fn extend(&self, answer: &mut ServerResult) {
        match answer {
            ServerResult::ListResourcesResult(result) => result.resources.push(
                Resource::new(URI, "review")
                    .with_title("Review")
                    .with_description("Shows a change that waits for a review.")
                    .with_mime_type(MEDIA_TYPE),
            ),
            ServerResult::ListToolsResult(result) => {
                let shown = result.tools.iter_mut().filter(|tool| self.tools.contains(&tool.name.as_ref()));
                for tool in shown {
                    let MetaObject(meta) = tool.meta.get_or_insert_default();
                    meta.insert("ui".into(), json!({ "resourceUri": URI }));
                }
            }
            ServerResult::CallToolResult(result) => {
                let review = result.meta.as_mut().and_then(|meta| meta.0.get_mut(REVIEW));
                if let Some(Value::Object(review)) = review
                    && let Some(id) = review.get("id").and_then(Value::as_str)
                    && let Some(changes) = (self.draw)(id.to_owned()).await
                {
                    review.insert(CHANGES.into(), changes.into());
                }
            }
            _ => {}
        }
    }
}
