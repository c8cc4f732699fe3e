//! Answers outside of contracts, which can't declare them: for a server that demonstrates all of MCP to a test suite.

use rmcp::{
    ErrorData, RoleServer,
    model::{ClientRequest, ServerResult},
    service::RequestContext,
};
use tabellion_runtime::BoxFuture;

/// Tools, resources and prompts that a server offers in addition to those of its contracts.
pub trait Extension: Send + Sync {
    /// Returns the answer to a request; `None` leaves it to the contracts. Results name their server if the revision requires it.
    fn answer<'a>(
        &'a self,
        request: &'a ClientRequest,
        cx: &'a RequestContext<RoleServer>,
    ) -> Option<BoxFuture<'a, Result<ServerResult, ErrorData>>>;

    /// Adds its tools, resources and prompts to the contracts' answer to a request that lists them.
    fn extend(&self, answer: &mut ServerResult);
}
