//! Death, a full disk and a failing disk at every step of a mutation.

use crate::check::Check;

pub(super) const CHECKS: &[Check] = &[];
