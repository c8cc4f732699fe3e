//! Tabellion: a server for Markdown libraries in git that AI agents and people edit together.
//!
//! | module | is for |
//! |---|---|
//! | [`contracts`] | implementations of the contracts' generated traits, and which contracts there are |
//! | [`http`] | sockets, paths, limits and who may speak, for MCP over HTTP |
//! | [`keys`] | who calls over HTTP, and what they may do; API keys |
//! | [`library`] | files, git, the transaction, the log, listing and search; the only place that writes |
//! | [`markdown`] | sections, edits, previews: pure functions from text to text |
//! | [`mcp`] | one adapter from contracts to MCP, over stdio and HTTP; it names no tool |
//! | [`oauth`] | access tokens: who calls over HTTP, as an authorization server says it |
//! | [`path`] | names of files and folders, checked once at the edge |
//! | [`platform`] | what differs between operating systems |
//! | [`rates`] | how often callers may do something over HTTP |
//! | [`parent`] | noticing that the client is gone |
//! | [`tls`] | TLS, as a server and as a client |
//! | [`cli`] | the command line: `serve`, `key` and `demo` |

// The one would panic where nobody listens, the other is for a client.
#![cfg_attr(not(test), deny(clippy::print_stderr, clippy::print_stdout))]

pub mod cli;
pub mod contracts;
mod demo;
mod fresh;
pub mod http;
pub mod keys;
pub mod library;
pub mod markdown;
pub mod mcp;
pub mod oauth;
pub mod parent;
pub mod path;
pub mod platform;
pub mod rates;
mod serve;
pub mod tls;
