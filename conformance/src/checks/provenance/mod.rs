//! Provenance: the fields that a call needs, the names under which it may give them, and their record.
//!
//! A server under test must not guess provenance: a field that a call does not give has to be missing.

mod aliases;
mod kept;
mod missing;
mod no_filter;
pub(super) mod said;

use crate::check::Check;

pub(super) const CHECKS: &[Check] =
    &[missing::MISSING, aliases::CHECK, kept::CHECK, no_filter::CHECK, missing::DELEGATED];
