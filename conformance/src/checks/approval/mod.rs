//! Approval: a tool that requires it changes nothing without a person's consent, and only what the person was shown.
//!
//! The suite plays the person ([`Person`]). In a session the server asks with a request while the call is pending; since
//! 2026-07-28 the question is the call's result, and the client repeats the call with the person's answer.

mod answers;
mod once;
mod pending;
mod shown;

use crate::check::Check;

pub(super) const CHECKS: &[Check] =
    &[answers::DECLINED, answers::MALFORMED, shown::SHOWN, shown::STALE, once::CHECK];
