//! A person's approval.

use serde::Deserialize;

use crate::vocabulary::vocabulary;

/// A person's approval of a call's change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Approval {
    /// The form of the proposal that the person sees.
    pub shows: Shows,
}

vocabulary! {
    /// The form of the proposal that a person is asked to approve.
    #[serde(rename_all = "kebab-case")]
    pub enum Shows {
        /// The appended text, without a line ending that only ends the line before. The tool can only append.
        Appended,
        /// The diff of the document.
        Diff,
    }
}
