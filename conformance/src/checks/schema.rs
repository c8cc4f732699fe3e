//! Every keyword and rule of a contract's schemas, kept and broken by as little as can be.

use crate::check::Check;

pub(super) const CHECKS: &[Check] = &[];
