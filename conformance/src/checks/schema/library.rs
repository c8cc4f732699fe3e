//! The documents of each case's library.

/// Documents of each case's library.
pub(super) const DOCUMENTS: &[(&str, &str)] = &[
    (DOCUMENT, "# Plan\n\nIntro.\n\n## Scope\n\nAll of it.\n\n## Later\n\nNothing.\n"),
    ("README.md", "# Library\n"),
];
pub(super) const DOCUMENT: &str = "notes/plan.md";
