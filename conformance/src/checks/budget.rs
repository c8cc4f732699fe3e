//! What a server costs those who use it.

use crate::check::Check;

pub(super) const CHECKS: &[Check] = &[];
