//! Contracts over MCP's Streamable HTTP: what is posted, and what comes back for it.
//!
//! ```text
//! POST → headers → message → conversation → rmcp → adapter → … → rmcp → conversation → stream → answer | events
//! ```
//!
//! [`Endpoint`] is one library's; it knows HTTP's requests and responses, and leaves sockets, paths, `Host` and `Origin`
//! to the HTTP server. Messages are read as over lines, so that whatever is wrong with one has the same answer.
//! Both eras come by the same path, told apart by each request: until 2025-11-25 `initialize` opens a
//! session, in which a request goes on when its connection breaks, and can be asked for again; since
//! 2026-07-28 each request stands for itself, and hanging up cancels it. An answer that comes soon is plain JSON, all
//! else a stream of events.
//!
//! rmcp's own service for HTTP is left out: it takes handlers only, where the [`Adapter`](super::Adapter) is more; it
//! reads bodies as leniently as its lines, begins sessions with a lifecycle that a wrong message ends, and lets one
//! reader that is slow hold up its session.

mod body;
mod conversation;
mod endpoint;
mod headers;
mod refusal;
mod routes;
mod sessions;
mod stream;

pub use body::Body;
pub use endpoint::{Endpoint, Limits};
pub use refusal::Refusal;
