//! Configuration files of MCP clients: their locations, and edits that change only one entry.
//!
//! It starts no server and asks no person; the command line does.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests open what they have made"))]

mod catalog;
mod config;
mod edit;
mod entry;
mod file;
mod machine;
mod tree;

#[cfg(test)]
mod tests;

pub use catalog::{Client, client, clients};
pub use config::{Action, Change, Config, ConfigError, Force, Written};
pub use edit::{EditError, Format};
pub use entry::Server;
pub use file::FileError;
pub use machine::{Machine, System};
