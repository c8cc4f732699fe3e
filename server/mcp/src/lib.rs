//! Contracts over the Model Context Protocol.
//!
//! ```text
//! line → lines → message → transport → rmcp → adapter → handler → gateway → render → rmcp → output → line
//! ```
//!
//! [`serve_stdio`] serves until the client disconnects, and [`serve`] does so over any pair of streams.
//! [`Adapter`] depends on contracts, but on no transport; [`streamable`] puts it behind HTTP. No code here names
//! a tool, resource or prompt, except `fixtures`, which is in no release: the contracts' specs declare them.
//!
//! Both eras are served side by side, request by request: sessions opened by `initialize` (2024-11-05 to 2025-11-25), and
//! 2026-07-28, where each request names its protocol version in `_meta`. `tools`, `resources`, `prompts` and `completions`
//! are each offered if a contract uses them. If a contract or the operator requires a person's approval, the client asks for
//! it ([`ApprovalPolicy`](tabellion_gateway::ApprovalPolicy)). Subscribers of a resource are notified of its changes, including
//! those made by hand.
//!
//! rmcp's own lifecycle is not used (`serve_directly`): it ends the service at a notification before `initialize`, and fixes a
//! connection to the era of its first request. rmcp also logs received messages: a subscriber must turn off its target (`rmcp=off`),
//! or the text of notes is logged. A panic's message is a similar leak, unless the program's panic hook prints only the location.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests open what they have made"))]

mod adapter;
mod app;
mod approval;
mod client_info;
mod ending;
mod exact_error;
mod extension;
mod handler;
mod in_flight;
mod lines;
mod lists;
mod message;
mod output;
mod render;
mod requests;
mod service;
mod shared;
pub mod streamable;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;
mod transport;
mod waiting;
mod watching;

pub use adapter::Adapter;
pub use app::{App, DrawChanges};
pub use ending::ServeError;
pub use extension::Extension;
pub use service::{serve, serve_stdio};
pub use shared::ServerInfo;
