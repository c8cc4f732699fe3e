//! Paths that lead elsewhere, or to nothing that a document is.

use crate::check::Check;

pub(super) const CHECKS: &[Check] = &[];
