//! An instance of a workflow, as the catalogue has it.

use uuid::Uuid;

/// Content id of a document's bytes, as git computes it.
pub type ContentHash = [u8; 20];

/// Reads the fields of a document in `workflows/`; `None` if it is not that of an instance.
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
    /// Whether it goes on.
    pub is_open: bool,
    /// When it was started (RFC 3339).
    pub started_at: String,
    /// The note that it is about.
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
