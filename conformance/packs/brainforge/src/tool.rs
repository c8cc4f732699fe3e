//! The tools of a library of notes, whose names are each contract's own.

use tabellion_runtime::{ContractSpec, ToolSpec};

/// A tool of a library of notes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tool {
    /// Searches notes.
    Search,
    /// Creates a note.
    Create,
    /// Changes a note.
    Update,
    /// Links two notes.
    Link,
    /// Exports notes into a file.
    Export,
}

impl Tool {
    pub(super) const ALL: [Self; 5] = [Self::Search, Self::Create, Self::Update, Self::Link, Self::Export];

    /// Returns the arguments that identify the tool.
    const fn arguments(self) -> &'static [&'static str] {
        match self {
            Self::Search => &["query", "filters", "limit", "include_excerpts"],
            Self::Create => &["content", "note_type", "metadata"],
            Self::Update => &["note_id", "content", "version"],
            Self::Link => &["source_note_id", "target_note_id", "relation_type"],
            Self::Export => &["format", "filters", "include_content", "include_links"],
        }
    }

    /// Returns the contract's tool of this kind, if it has one.
    pub(super) fn find(self, contract: &ContractSpec) -> Option<&'static ToolSpec> {
        contract.operations().find(|tool| {
            let wire = tool.input.wire();
            let mut arguments = self.arguments().iter();
            arguments.all(|name| wire["properties"].get(name).is_some())
        })
    }
}
