//! Errors: how they reach the client, and what they must not tell.

mod calls;
mod channel;
mod leaks;
mod sanitized;

use crate::check::Check;

pub(super) const CHECKS: &[Check] = &[channel::CHECK, sanitized::CHECK];
