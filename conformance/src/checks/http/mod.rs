//! Requirements of MCP's Streamable HTTP transport beyond its messages; not applicable to servers on other transports.
//!
//! A check with severity `Must` is a MUST of the specification (2025-11-25, basic/transports; 2026-07-28,
//! basic/transports/streamable-http); a recommendation has severity `Should`. Behaviour that the specification leaves to
//! servers is not checked.

mod bodies;
mod clients;
mod exchange;
mod headers;
mod sessions;

use crate::check::Check;

/// Name of this family of checks.
pub(crate) const FAMILY: &str = "http";

pub(super) const CHECKS: &[Check] = &[
    headers::ORIGIN,
    bodies::ANSWERS,
    bodies::NOTIFICATIONS,
    bodies::BAD,
    bodies::BAD_STATUS,
    bodies::UNKNOWN_METHOD,
    headers::REVISION,
    headers::CONSISTENT,
    sessions::ENDS,
    sessions::UNKNOWN,
    sessions::GET,
    sessions::OTHER_METHODS,
    clients::APART,
    clients::CONCURRENT_EDITS,
];
