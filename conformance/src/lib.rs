//! The ground that conformance checks stand on: a server under test on the wire, and a library on the disk.
//!
//! [`Target`] drives any MCP server over stdio by raw JSON lines, so that malformed messages, kills and restarts are
//! as easy as calls. [`Ledger`] reads what a library holds, from its files and from git, never by asking the server.
//! [`Stepper`] runs a program such that it dies, or a system call fails, at any point that one names.
//!
//! This crate knows contracts and the disk; it never depends on a server.

pub mod ledger;
pub mod stepper;
pub mod target;

pub use ledger::Ledger;
pub use stepper::Stepper;
pub use target::{Target, WireError};
