//! What is said on the wire, in both eras: every message against the official schema of its revision.

use crate::check::Check;

pub(super) const CHECKS: &[Check] = &[];
