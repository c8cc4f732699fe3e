//! MCP over HTTP: sockets, TLS, limits, credentials and routes. What a message means is [`tabellion_mcp::streamable`]'s.
//!
//! ```text
//! socket → connection → router (log → guard → authenticate → route) → endpoint → …
//! ```
//!
//! A client can't block others: a connection that is idle, sends slowly or does not read is closed after a time, and what
//! all clients together may hold is bounded ([`Limits`]). [`serve`] shuts down gracefully: it accepts nothing more and
//! finishes what is in flight.

mod connection;
mod credentials;
mod fresh;
mod guard;
pub mod keys;
mod layers;
mod metrics;
pub mod oauth;
mod patient;
pub mod rates;
mod response;
mod router;
mod site;
#[cfg(test)]
mod tests;
pub mod tls;
mod upload;

use std::time::Duration;

use crate::rates::Rate;

pub use connection::{listen, serve};
pub use credentials::{Credentials, OAuth};
pub use guard::{BadEntry, Guard};
pub use metrics::LibraryCounts;
pub use site::{Mount, Site};

/// How much a server takes upon itself, and how long it waits.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Connections. One more is told so, with 503, and closed.
    pub connections: usize,
    /// The longest body, in bytes. A longer one is refused with 413.
    pub body: usize,
    /// Bytes of all bodies that are being received. More are refused with 503.
    pub bodies: usize,
    /// How long a connection may say nothing, or take for the head of a request.
    pub head: Duration,
    /// How long the body of a request may take. A slower one is refused with 408.
    pub upload: Duration,
    /// How long a client may leave unread what it is sent.
    pub unread: Duration,
    /// How often one caller may look at something.
    pub reads: Rate,
    /// How often one caller may change something.
    pub writes: Rate,
    /// How often keys and tokens from one address may be bad.
    pub failures: Rate,
    /// Whether that is counted for addresses of this machine, too. A proxy there speaks for everybody.
    pub local_failures: bool,
    /// How long calls may go on when the server ends.
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
