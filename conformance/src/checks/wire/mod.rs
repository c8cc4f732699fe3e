//! Checks of the protocol in both eras: messages follow MCP, and the server survives invalid ones.
//!
//! The checks demand nothing that MCP's specification leaves open, and the contract's tool definitions only of servers
//! that implement them without an adapter.

mod bad_lines;
mod bad_params;
mod calls;
mod eof;
mod handshake;
mod ids;
mod large;
mod notifications;
mod official;
mod output;
mod stdout;
mod tools_list;
mod unknown;

use crate::check::Check;

pub(super) const CHECKS: &[Check] = &[
    handshake::CHECK,
    notifications::CHECK,
    official::CHECK,
    tools_list::CHECK,
    tools_list::STARTS,
    output::CHECK,
    output::TEXT,
    stdout::CHECK,
    bad_lines::CHECK,
    bad_lines::CODE,
    ids::CHECK,
    unknown::CHECK,
    bad_params::CHECK,
    bad_params::CODE,
    large::CHECK,
    eof::EXIT,
    eof::IN_FLIGHT,
];
