//! A person's approval.

use serde::Deserialize;

use crate::vocabulary::vocabulary;

/// A person's approval of what a call is about to change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Approval {
    /// What the person is shown.
    pub shows: Shows,
}

vocabulary! {
    /// What a person is shown who is asked for approval.
    #[serde(rename_all = "kebab-case")]
    pub enum Shows {
        /// Exactly the text to be appended, without a line ending that only ends the line before. Such a tool can't do anything but append.
        Appended,
        /// The difference between the document as it is and as it would be.
        Diff,
    }
}
