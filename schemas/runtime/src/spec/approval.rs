//! A person's approval.

use serde::Deserialize;

use crate::vocabulary::vocabulary;

/// A person's approval of a call's change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Approval {
    /// What the person sees.
    pub shows: Shows,
}

vocabulary! {
    /// What a person sees when asked for approval.
    #[serde(rename_all = "kebab-case")]
    pub enum Shows {
        /// The appended text, without a line ending that only ends the line before. The tool can do nothing but append.
        Appended,
        /// The diff of the document.
        Diff,
    }
}
