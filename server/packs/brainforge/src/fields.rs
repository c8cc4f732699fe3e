//! Fields of instances in the catalogue, and filters of proposals.

use serde::{Deserialize, Serialize};
use tabellion_contracts::brainforge::WORKFLOW_AGENT_NOTE_REVIEW;
use tabellion_notes::{ContentHash, FoundInstance, InstanceFilter};
use tabellion_runtime::{Failure, FailureKind, Identity, KnownCaller, workflow_calls::InstanceStatus};

/// Fields of an instance that no query needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Fields {
    /// Name of the caller who started it.
    pub(super) author: String,
    /// Identity of that caller.
    pub(super) identity: Option<Identity>,
    /// Status of the workflow.
    pub(super) status: InstanceStatus,
    /// Fields of a proposal.
    pub(super) proposal: Option<Proposed>,
}

impl Fields {
    /// Returns whether `caller` started the instance.
    pub(super) fn is_by(&self, caller: &KnownCaller) -> bool {
        let author = self.identity.as_ref();
        author.is_some_and(|author| author.is_same_actor(&caller.identity))
    }
}

/// Fields of a proposal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Proposed {
    /// Title that the note will have.
    pub(super) title: String,
    /// True if the note would be sensitive.
    pub(super) sensitive: bool,
    /// Reason for the change, or for the new note.
    pub(super) reason: Option<String>,
    /// Time of the last event (RFC 3339).
    pub(super) changed_at: String,
    /// Number that the note's version would have.
    pub(super) version: u64,
    /// Number and digest of the note's version that it changes; `None` for a new note.
    pub(super) base: Option<(u64, String)>,
}

/// Reads the further fields of an instance in the catalogue.
pub(super) fn read(found: &FoundInstance) -> Result<Fields, Failure> {
    serde_json::from_str(&found.instance.fields)
        .map_err(|error| Failure::new(FailureKind::Io, error.to_string()))
}

/// Returns the filter for proposals.
pub(super) fn any() -> InstanceFilter {
    InstanceFilter { workflow: Some(WORKFLOW_AGENT_NOTE_REVIEW.id.into()), ..InstanceFilter::default() }
}

/// Returns the filter for proposals that wait.
pub(super) fn open() -> InstanceFilter {
    InstanceFilter { is_open: Some(true), ..any() }
}

/// Returns a content id as text.
pub(super) fn hex(content: &ContentHash) -> String {
    data_encoding::HEXLOWER.encode(content)
}
