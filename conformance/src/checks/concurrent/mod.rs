//! Many clients, several servers, an editor and a git at the same library.

use crate::check::Check;

pub(super) const CHECKS: &[Check] = &[];
