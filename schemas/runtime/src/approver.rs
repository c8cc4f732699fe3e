//! Approvers, the proposals that they are shown, and their decisions.

use std::fmt::Debug;

use crate::{future::BoxFuture, spec::ToolSpec};

/// A change that an approver is asked to decide on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// Name of the tool that was called.
    pub tool: &'static str,
    /// Path of the document that would change, relative to the library's root.
    pub path: String,
    /// Its effect on the document.
    pub effect: ProposedEffect,
    /// The text that would be appended, or the difference.
    pub shown: String,
    /// Digest of the tool, the path and exactly the bytes that are shown. An approval holds only for proposals with the same
    /// digest.
    pub digest: String,
}

/// The effect of a proposal on its documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProposedEffect {
    /// All of them are created.
    Create,
    /// They change, or not all in the same way.
    Change,
    /// All of them are deleted.
    Delete,
}

/// An approver's decision on a proposal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// The change may be made.
    Granted,
    /// The change must not be made: the reason and the remedy, for the caller.
    Declined(String),
    /// Only the caller can ask the person: it repeats the call with the answer.
    Ask,
}

/// Decides on proposals.
pub trait Approver: Send + Sync + Debug {
    /// Returns true if calls of `tool` need approval although the contract does not require it. The approver is then shown the difference.
    fn insists_on(&self, tool: &ToolSpec) -> bool {
        let _ = tool;
        false
    }

    /// Decides on a proposal. There is no time limit: a person may be asked.
    fn decide<'a>(&'a self, proposal: &'a Proposal) -> BoxFuture<'a, Decision>;
}
