//! Promises of an implementation.

use serde::Deserialize;

use crate::vocabulary::vocabulary;

/// A promise that a conformance check can break.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Guarantee {
    /// Stable id: `commit-per-mutation`.
    pub id: &'static str,
    /// Its kind, for programs.
    pub kind: Option<GuaranteeKind>,
    /// The source document's wording.
    pub text: &'static str,
}

vocabulary! {
    /// The kind of a guarantee. Programs that depend on a promise look for its kind, since ids are each contract's own.
    #[serde(rename_all = "snake_case")]
    pub enum GuaranteeKind {
        /// Each mutation is one commit.
        Commit,
        /// Each mutation is one entry of the activity log.
        Log,
        /// A preview shows exactly the change of its mutation.
        Preview,
        /// A mutation happens completely or not at all.
        Atomic,
        /// Reading tools change nothing.
        Pure,
        /// Acknowledged changes are in the branch of the remote that the library is shared through.
        Remote,
        /// Nothing is written without a person's approval.
        Approval,
        /// Only certain paths are read or written.
        Paths,
        /// Each mutation of rows is one entry of the log, which records exactly its changes.
        OneChange,
        /// Rows are the result of the calls under the entities' rules.
        Rows,
        /// Acknowledged changes survive a crash.
        Durable,
        /// No change is lost or doubled where several clients work together.
        Together,
        /// Rows of other orgs are reported as not found.
        Orgs,
        /// A secret is answered once, and stored nowhere.
        Secrets,
    }
}
