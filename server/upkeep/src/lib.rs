//! The upkeep of libraries and rows: their place, what is wrong with them, backups and repair, and the form of a command's output.
//!
//! Serving and the commands for people build on it; it knows neither, nor the command line.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests open what they have made"))]
// Printing macros panic on a closed stream; `console` does not.
#![cfg_attr(not(test), deny(clippy::print_stderr, clippy::print_stdout))]

pub mod client;
pub mod console;
pub mod data;
pub mod doctor;
mod error;
pub mod folder;
pub mod handshake;
pub mod page;
mod pager;

pub use self::error::TerminalError;
