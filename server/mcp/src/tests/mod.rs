//! Sessions with a contract in memory. What goes in and what comes out is data; see
//! [`session`](client::session).
//!
//! Every message that the server sends on the way is held against MCP's official schema of its revision,
//! where these are at hand (`shared/data/mcp-schema` above the crate, or below `TABELLION_DATA`).

mod approval;
mod bridge;
mod client;
mod fuzz;
mod life;
mod offers;
mod official;
mod operations;
mod origin;
mod page;
mod revisions;
mod streamable;
mod subscriptions;
mod tools;
mod waiting;
mod wire;
