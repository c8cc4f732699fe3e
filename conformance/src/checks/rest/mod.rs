//! REST next to MCP: the same calls with the same outcome, described accurately, and refused as the contract declares.
//!
//! Applies to contracts with endpoints (`rest`), over HTTP. This family tests the endpoints of these kinds: the list of tools,
//! the call of a tool, and the description. The form of a successful answer is the one that `server/docs/brainforge.md` describes.
//!
//! | module | is for |
//! |---|---|
//! | [`faces`] | a server, with a client over MCP and requests over REST |
//! | [`outcome`] | the outcome of a call, read from either's answer |
//! | [`alike`] | values that differ between two runs: ids, times, sizes |
//! | [`program`] | the calls, made of the contract's examples |
//! | [`same`] | `rest/same-answers` |
//! | [`description`], [`openapi`] | the description, and `rest/openapi` |
//! | [`bad`], [`errors`] | requests that must be refused, and `rest/errors` |
//! | [`calls`] | families of their own: records of calls |

mod alike;
mod bad;
pub(super) mod calls;
mod description;
mod errors;
mod faces;
mod openapi;
mod outcome;
mod program;
mod same;

use crate::check::Check;

pub(super) const CHECKS: &[Check] = &[same::CHECK, openapi::CHECK, errors::CHECK];
