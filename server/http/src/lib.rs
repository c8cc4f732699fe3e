//! MCP over HTTP: sockets, TLS, limits, credentials and routes. [`tabellion_mcp::streamable`] interprets the messages.
//!
//! ```text
//! socket → connection → router (log → guard → authenticate → route) → endpoint → …
//! ```
//!
//! A client can't block others: a connection that is idle, sends slowly or does not read is closed after a
//! time, and the resources of all clients together are bounded ([`Limits`]). [`serve`] shuts down gracefully:
//! it stops accepting connections and finishes the requests in flight.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests open what they have made"))]

mod client;
mod connection;
mod credentials;
mod downloads;
mod fresh;
mod guard;
mod hook;
pub mod keys;
mod layers;
mod metrics;
mod mount;
pub mod oauth;
pub mod post;
pub mod rates;
mod response;
mod router;
mod site;
mod slots;
#[cfg(test)]
mod tests;
pub mod tls;
mod unread;
mod upload;
mod write_timeout;

use std::{net::IpAddr, time::Duration};

use crate::rates::RatePerMinute;

pub use connection::{listen, serve};
pub use credentials::{Credentials, OAuth};
pub use guard::{Guard, GuardError};
pub use hook::{Hook, HookSecret};
pub use mount::{LibraryCounts, Mount, RemoteCounts};
pub use site::{Page, Site};

/// A server's limits and timeouts.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Maximum number of connections, half of them from one address. A further one replaces a connection
    /// without a whole request; if there is none, it is answered with 503 and closed.
    pub connections: usize,
    /// Maximum size of a body, in bytes. Larger ones are rejected with 413.
    pub body: usize,
    /// Maximum size of all bodies being received, in bytes, half of them of one caller. Further ones are rejected with 503.
    pub bodies: usize,
    /// Timeout for idle connections, TLS handshakes and the head of a request.
    pub head: Duration,
    /// Timeout for the body of a request, which is then rejected with 408.
    pub upload: Duration,
    /// Timeout for a client that does not read its answer.
    pub unread: Duration,
    /// Limit of reads per caller.
    pub reads: RatePerMinute,
    /// Limit of writes per caller.
    pub writes: RatePerMinute,
    /// Limit of invalid keys and tokens per address.
    pub failures: RatePerMinute,
    /// Set if the limits of one address also apply to loopback addresses. A reverse proxy there sends the requests of all clients.
    pub local_failures: bool,
    /// Timeout for calls in flight when the server shuts down.
    pub grace: Duration,
}

impl Limits {
    /// Returns true if the limits of one address apply to this one.
    fn counts(&self, address: IpAddr) -> bool {
        self.local_failures || !address.to_canonical().is_loopback()
    }
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
            reads: RatePerMinute::OFF,
            writes: RatePerMinute::OFF,
            failures: RatePerMinute::a_minute(60),
            local_failures: false,
            grace: Duration::from_secs(10),
        }
    }
}
