//! What a contract's schemas say of arguments is what the server holds to: valid ones pass, others change nothing.

mod inputs;
mod oddities;

use crate::check::Check;

pub(super) const CHECKS: &[Check] = &[inputs::VALID, inputs::INVALID, oddities::CHECK];

/// The documents that the cases begin with.
const DOCUMENTS: &[(&str, &str)] = &[
    (
        DOCUMENT,
        "# Plan\n\nIntro.\n\n## Scope\n\nAll of it.\n\n## Later\n\nNothing.\n",
    ),
    ("README.md", "# Library\n"),
];
const DOCUMENT: &str = "notes/plan.md";
