//! Provenance: which fields a call needs, under which names it may say them, and what becomes of them.
//!
//! A server under test must not find out by itself where calls come from: what a call does not say has to be missing.

mod aliases;
mod kept;
mod missing;
mod no_filter;
pub(super) mod said;

use crate::check::Check;

pub(super) const CHECKS: &[Check] = &[
    missing::MISSING,
    aliases::CHECK,
    kept::CHECK,
    no_filter::CHECK,
    missing::DELEGATED,
];
