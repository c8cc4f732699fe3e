//! Documents that are edited section by section: where sections are, what belongs to them, and how they are named.
//!
//! The tester has its own view of a document ([`crate::markdown`]): what it finds in the folder is held against what the
//! server tells, and every byte that a call was not about must stay.

pub(super) mod editor;
mod identity;
mod ids;
mod inside;
mod position;
pub(super) mod samples;

use crate::check::Check;

pub(super) const CHECKS: &[Check] = &[
    position::CHECK,
    identity::CHECK,
    inside::CHECK,
    ids::CHECK,
    ids::GONE,
];
