//! That a preview is what then happens, byte for byte.

use crate::check::Check;

pub(super) const CHECKS: &[Check] = &[];
