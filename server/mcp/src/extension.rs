//! Answers that no contract can declare, beside those of contracts: for a server that shows all of MCP to a test suite.

use rmcp::{
    ErrorData, RoleServer,
    model::{ClientRequest, ServerResult},
    service::RequestContext,
};
use tabellion_runtime::BoxFuture;

/// Tools, resources and prompts that a server offers beside those of its contracts.
pub trait Extension: Send + Sync {
    /// Returns the answer to a request; `None` leaves it to the contracts. Results name their server where the revision has it.
    fn answer<'a>(
        &'a self,
        request: &'a ClientRequest,
        cx: &'a RequestContext<RoleServer>,
    ) -> Option<BoxFuture<'a, Result<ServerResult, ErrorData>>>;

    /// Adds its tools, resources and prompts to the contracts' answer to a request that lists them.
    fn extend(&self, answer: &mut ServerResult);
}
