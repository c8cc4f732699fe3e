//! Random programs of calls, edits by hand and restarts, beside a model of what must come of them.

use crate::check::Check;

pub(super) const CHECKS: &[Check] = &[];
