//! Checks of arguments: the server accepts what the contract's schemas accept, and other arguments change nothing.

mod inputs;
mod oddities;

use crate::check::Check;

pub(super) const CHECKS: &[Check] = &[inputs::VALID, inputs::INVALID, oddities::CHECK];

/// Documents of each case's library.
const DOCUMENTS: &[(&str, &str)] = &[
    (
        DOCUMENT,
        "# Plan\n\nIntro.\n\n## Scope\n\nAll of it.\n\n## Later\n\nNothing.\n",
    ),
    ("README.md", "# Library\n"),
];
const DOCUMENT: &str = "notes/plan.md";
