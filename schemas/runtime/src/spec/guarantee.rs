//! What an implementation promises.

use crate::vocabulary::vocabulary;

/// A promise that a conformance check can break.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Guarantee {
    /// Stable id: `commit-per-mutation`.
    pub id: &'static str,
    /// What it is about, as far as programs ask.
    pub kind: Option<GuaranteeKind>,
    /// The source document's wording.
    pub text: &'static str,
}

vocabulary! {
    /// What a guarantee is about. A program asks for the kind where it must know whether a contract promises something, since ids
    /// are each contract's own.
    #[serde(rename_all = "snake_case")]
    pub enum GuaranteeKind {
        /// Each mutation is one commit.
        Commit,
        /// Each mutation is one entry of the activity log.
        Log,
        /// A preview shows what the mutation then does.
        Preview,
        /// A mutation happens as a whole or not at all.
        Atomic,
        /// What reads changes nothing.
        Pure,
        /// Nothing is written without a person's approval.
        Approval,
        /// Only certain paths are read or written.
        Paths,
    }
}
