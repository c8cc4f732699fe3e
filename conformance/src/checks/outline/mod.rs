//! Checks of documents that are edited by section: positions, bounds and ids of sections.
//!
//! The suite parses documents itself ([`crate::markdown`]). It compares the sections in the folder with those that the
//! server lists; an edit must preserve every byte outside its section.

pub(super) mod editor;
mod identity;
mod ids;
mod inside;
mod position;
pub(super) mod samples;

use crate::check::Check;

pub(super) const CHECKS: &[Check] =
    &[position::CHECK, identity::CHECK, inside::CHECK, ids::CHECK, ids::GONE_ID];
