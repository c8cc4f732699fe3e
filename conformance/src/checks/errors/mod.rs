//! Errors: how they reach the client, and which internals they must not reveal.

mod calls;
mod channel;
mod leaks;
mod sanitized;

use crate::check::Check;

pub(super) const CHECKS: &[Check] = &[channel::CHECK, sanitized::CHECK];
