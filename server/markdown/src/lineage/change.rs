//! A change of the list of sections, as its log entry records it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::SectionId;

/// A change of the list of sections. Positions of removed sections are those before the change, positions of added ones
/// those after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "operation", rename_all = "lowercase")]
pub enum SectionChange {
    /// A section was inserted, with those in its content.
    Insert {
        /// The new section.
        section_id: SectionId,
        /// Its heading, for readers of the log.
        heading: String,
        /// Its new position.
        position: usize,
        /// The number of inserted sections, including itself.
        sections: usize,
    },
    /// A section was deleted, with all below it.
    Delete {
        /// The section.
        section_id: SectionId,
        /// Its heading, for readers of the log.
        heading: String,
        /// Its old position.
        position: usize,
        /// The number of deleted sections, including itself.
        sections: usize,
    },
    /// A section's own text was replaced.
    Update {
        /// The section.
        section_id: SectionId,
        /// Its heading, for readers of the log.
        heading: String,
        /// Its new position.
        position: usize,
        /// The number of sections in the new text.
        sections: usize,
    },
    /// A section was moved, with all below it.
    Move {
        /// The section.
        section_id: SectionId,
        /// Its heading, for readers of the log.
        heading: String,
        /// Its old position.
        from: usize,
        /// Its new position.
        position: usize,
        /// The number of moved sections, including itself.
        sections: usize,
    },
    /// A change was undone.
    Undo {
        /// The commit of that change.
        undoes: String,
    },
    /// An undone change was redone.
    Redo {
        /// The commit of that change.
        redoes: String,
    },
}

impl SectionChange {
    /// Returns the operation's name.
    pub fn operation(&self) -> &'static str {
        match self {
            Self::Insert { .. } => stringify!(insert),
            Self::Delete { .. } => stringify!(delete),
            Self::Update { .. } => stringify!(update),
            Self::Move { .. } => stringify!(move),
            Self::Undo { .. } => stringify!(undo),
            Self::Redo { .. } => stringify!(redo),
        }
    }

    /// Returns a one-line summary, for readers of the log.
    pub fn summary(&self) -> String {
        let word = self.operation();
        match self {
            Self::Insert { heading, position, .. }
            | Self::Delete { heading, position, .. }
            | Self::Update { heading, position, .. } => {
                format!("{word} \"{heading}\" at position {position}")
            }
            Self::Move { heading, from, position, .. } => {
                format!("{word} \"{heading}\" from position {from} to {position}")
            }
            Self::Undo { undoes: commit } | Self::Redo { redoes: commit } => format!("{word} {commit}"),
        }
    }

    /// Returns the details that a log entry records in addition to the operation's name.
    pub fn details(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(mut details)) => {
                details.remove("operation");
                details
            }
            // Unreachable: all fields serialize.
            _ => Map::new(),
        }
    }

    /// Parses the change that a log entry records, if it records one.
    pub fn read(operation: &str, details: &Map<String, Value>) -> Option<Self> {
        let mut details = details.clone();
        details.insert("operation".into(), operation.into());
        serde_json::from_value(Value::Object(details)).ok()
    }
}
