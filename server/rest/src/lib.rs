//! Contracts over REST, at the endpoints that they declare.
//!
//! ```text
//! request → Rest::answer → Call → Gateway::call → answer → response
//! ```
//!
//! Calls are those of [`Gateway`](tabellion_gateway::Gateway), as over MCP: limits, roles, gates, conditions and errors are the same.
//! Endpoints, statuses and the form of errors are the contract's.

mod answer;
mod call;
mod endpoints;
mod executions;
mod prefer;
mod query;
mod refusal;
mod rest;
mod sessions;
mod unmodified;
mod workflows;

pub use refusal::Refusal;
pub use rest::{Rest, RestRequest};
pub use unmodified::is_known;

/// Permitted request headers, in addition to those of MCP.
pub const REQUEST_HEADERS: [&str; 4] = ["idempotency-key", "if-match", "if-none-match", "prefer"];
