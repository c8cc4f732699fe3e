//! Contracts over the Model Context Protocol.
//!
//! ```text
//! line → lines → json → message → transport → rmcp → adapter → handler → contract → render → rmcp → output → line
//! ```
//!
//! [`serve_stdio`] serves until the client goes away, [`serve`] does it over any pair of streams, and
//! [`Adapter`] is the part that knows contracts and no transport; [`streamable`] puts it behind HTTP. Nothing here
//! names a tool, a resource or a prompt, but `fixtures`, which no release has: what is listed, called and read is what
//! the contracts' specs have.
//!
//! Both eras are served side by side, request by request: sessions opened by `initialize` (2024-11-05 to
//! 2025-11-25), and 2026-07-28, where each request says in `_meta` what it speaks. `tools`, `resources`, `prompts` and `completions` are each offered where
//! a contract has any. Where a contract or the operator wants a person's approval, the client asks for it
//! ([`ApprovalPolicy`]), and a resource's subscribers are told when it changes, also by hand.
//!
//! rmcp's own lifecycle is left out (`serve_directly`): it ends the service at a notification before
//! `initialize`, and holds a connection to the era of its first request. rmcp also logs what it receives: a
//! subscriber must turn its target off (`rmcp=off`), or note bodies end up in the log. So does what a panic
//! says, unless the program's panic hook prints no more than the place.

mod access;
mod adapter;
mod approval;
pub mod calls;
mod catalog;
mod ending;
#[cfg(any(test, feature = "fixtures"))]
#[cfg_attr(
    not(feature = "fixtures"),
    allow(dead_code, reason = "without the feature, only its unit tests use it")
)]
pub mod fixtures;
mod handler;
mod in_flight;
pub mod json;
mod lines;
mod message;
mod output;
mod render;
mod requests;
mod service;
pub mod streamable;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;
mod transport;
mod waiting;
mod watching;

pub use access::{Access, Budget, Grant};
pub use adapter::{Adapter, ServerInfo};
pub use approval::{ApprovalMode, ApprovalPolicy};
pub use catalog::{Kind, NameClash, Offer};
pub use ending::ServeError;
pub use service::{serve, serve_stdio};
