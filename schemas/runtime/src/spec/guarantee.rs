//! What an implementation promises.

use crate::vocabulary::vocabulary;

/// A promise that a conformance check can break.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Guarantee {
    /// Stable id: `commit-per-mutation`.
    pub id: &'static str,
    /// Its kind, for programs.
    pub kind: Option<GuaranteeKind>,
    /// The source document's wording.
    pub text: &'static str,
}

vocabulary! {
    /// The kind of a guarantee. Programs that must know whether a contract promises something use it, since ids are each
    /// contract's own.
    #[serde(rename_all = "snake_case")]
    pub enum GuaranteeKind {
        /// Each mutation is one commit.
        Commit,
        /// Each mutation is one entry of the activity log.
        Log,
        /// A preview shows what the mutation then does.
        Preview,
        /// A mutation happens completely or not at all.
        Atomic,
        /// Reading tools change nothing.
        Pure,
        /// What was acknowledged is in the branch of the remote that the library is shared through.
        Remote,
        /// Nothing is written without a person's approval.
        Approval,
        /// Only certain paths are read or written.
        Paths,
        /// Each mutation of rows is one entry of the log, which says exactly what it changed.
        OneChange,
        /// Rows are what the entities' rules make of the calls.
        Rows,
        /// What was acknowledged survives a crash.
        Durable,
        /// No change is lost or doubled where several clients work together.
        Together,
        /// What is in another org is not there.
        Orgs,
        /// A secret is answered once, and kept nowhere.
        Secrets,
    }
}
