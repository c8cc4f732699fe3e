//! Fields of a workflow instance in the catalogue.

use uuid::Uuid;

/// Content id of a document's bytes, as git computes it.
pub type ContentHash = [u8; 20];

/// Reads the fields of a document in `workflows/`; `None` if the document is not an instance.
pub type ParseInstance = fn(path: &str, bytes: &[u8]) -> Option<Instance>;

/// An instance of a workflow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instance {
    /// Its id.
    pub id: Uuid,
    /// Id of its workflow.
    pub workflow: String,
    /// Its state.
    pub state: String,
    /// True if it is not in a final state.
    pub is_open: bool,
    /// Time of its start (RFC 3339).
    pub started_at: String,
    /// The note that it is about, if any.
    pub note: Option<Uuid>,
    /// Name of the agent that started it.
    pub agent: Option<String>,
    /// Further fields, in a form that [`ParseInstance`] chooses.
    pub fields: String,
}

/// An instance in the catalogue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundInstance {
    /// Path of its document.
    pub path: String,
    /// Content id of its document.
    pub content: ContentHash,
    /// The instance.
    pub instance: Instance,
}
