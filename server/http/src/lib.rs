//! MCP over HTTP: sockets, TLS, limits, credentials and routes. [`tabellion_mcp::streamable`] processes the messages.
//!
//! ```text
//! socket → connection → router (log → guard → authenticate → route) → endpoint → …
//! ```
//!
//! A client can't block others: a connection that is idle, sends slowly or does not read is closed after a timeout, and the
//! resources of all clients together are limited ([`Limits`]). [`serve`] shuts down gracefully: it accepts nothing more and
//! finishes the requests in flight.

mod cached_files;
mod connection;
mod credentials;
mod guard;
pub mod keys;
mod layers;
mod metrics;
pub mod oauth;
pub mod rates;
mod response;
mod router;
mod site;
#[cfg(test)]
mod tests;
pub mod tls;
mod upload;
mod write_timeout;

use std::time::Duration;

use crate::rates::Rate;

pub use connection::{listen, serve};
pub use credentials::{Credentials, OAuth};
pub use guard::{AllowListError, Guard};
pub use metrics::LibraryCounts;
pub use site::{Mount, Site};

/// Limits and timeouts of a server.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Number of connections. A further one is answered with 503 and closed.
    pub connections: usize,
    /// Size of a body in bytes. A larger one is refused with 413.
    pub body: usize,
    /// Bytes of all bodies being received. Further ones are refused with 503.
    pub bodies: usize,
    /// Timeout of an idle connection, and of a request's head.
    pub head: Duration,
    /// Timeout of a request's body. A slower one is refused with 408.
    pub upload: Duration,
    /// Timeout of a client that does not read.
    pub unread: Duration,
    /// Reading requests per minute of a caller.
    pub reads: Rate,
    /// Changing requests per minute of a caller.
    pub writes: Rate,
    /// Invalid keys and tokens per minute from one address.
    pub failures: Rate,
    /// Whether that limit includes loopback addresses. A local proxy sends the requests of all its clients.
    pub local_failures: bool,
    /// Grace period of requests in flight at shutdown.
    pub grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 512,
            body: 64 << 20,
            bodies: 256 << 20,
            head: Duration::from_secs(30),
            upload: Duration::from_secs(60),
            unread: Duration::from_secs(30),
            reads: Rate::OFF,
            writes: Rate::OFF,
            failures: Rate::a_minute(60),
            local_failures: false,
            grace: Duration::from_secs(10),
        }
    }
}
