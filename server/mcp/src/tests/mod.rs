//! Sessions with an in-memory contract. Their input and output is data; see [`session`](client::session).
//!
//! Every message that the server sends in them is validated against MCP's official schema of its revision, if
//! these are available (`shared/data/mcp-schema` above the crate, or below `TABELLION_DATA`).

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
