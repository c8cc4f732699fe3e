//! Contracts over MCP's Streamable HTTP: posted messages and their responses.
//!
//! ```text
//! POST → headers → message → conversation → rmcp → adapter → … → rmcp → conversation → stream → answer | events
//! ```
//!
//! [`Endpoint`] serves one library. It handles HTTP requests and responses, and leaves sockets, paths, `Host` and `Origin` to the HTTP
//! server. Messages are parsed as over lines, so an invalid one gets the same error. Each request determines its era: until 2025-11-25
//! `initialize` opens a session, in which a request continues if its connection breaks, and its stream can be resumed; since 2026-07-28
//! requests are independent, and disconnecting cancels them. An early answer is plain JSON, everything else a stream of events.
//!
//! rmcp's own HTTP service is not used: it takes only handlers, not an [`Adapter`](super::Adapter); it parses bodies
//! leniently, opens sessions with a lifecycle that an invalid message ends, and lets one slow reader block its session.

mod body;
mod conversation;
mod endpoint;
pub(crate) mod headers;
mod refusal;
mod routes;
mod sessions;
mod stream;

pub use body::Body;
pub use endpoint::{Endpoint, Limits};
pub use refusal::refused;
