//! The change of the list of sections, as recorded in a log entry.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::SectionId;

/// A change of the list of sections. Positions of deleted sections are those before the change, all others those after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "operation", rename_all = "lowercase")]
pub enum Step {
    /// A section was inserted, possibly with others in its content.
    Insert {
        /// The new section.
        section_id: SectionId,
        /// Its heading, for display.
        heading: String,
        /// Its position.
        position: usize,
        /// Number of inserted sections, including itself.
        sections: usize,
    },
    /// A section was deleted with its children.
    Delete {
        /// The section.
        section_id: SectionId,
        /// Its heading, for display.
        heading: String,
        /// Its former position.
        position: usize,
        /// Number of deleted sections, including itself.
        sections: usize,
    },
    /// A section's text was replaced.
    Update {
        /// The section.
        section_id: SectionId,
        /// Its heading, for display.
        heading: String,
        /// Its position.
        position: usize,
        /// Number of sections in the new text.
        sections: usize,
    },
    /// A section was moved with its children.
    Move {
        /// The section.
        section_id: SectionId,
        /// Its heading, for display.
        heading: String,
        /// Its former position.
        from: usize,
        /// Its new position.
        position: usize,
        /// Number of moved sections, including itself.
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

impl Step {
    /// Returns the operation in one word.
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

    /// Returns the step in one line, for display.
    pub fn summary(&self) -> String {
        let word = self.operation();
        match self {
            Self::Insert {
                heading, position, ..
            }
            | Self::Delete {
                heading, position, ..
            }
            | Self::Update {
                heading, position, ..
            } => format!("{word} \"{heading}\" at position {position}"),
            Self::Move {
                heading,
                from,
                position,
                ..
            } => format!("{word} \"{heading}\" from position {from} to {position}"),
            Self::Undo { undoes: commit } | Self::Redo { redoes: commit } => format!("{word} {commit}"),
        }
    }

    /// Returns the details for the log entry, without the operation.
    pub fn details(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(mut details)) => {
                details.remove("operation");
                details
            }
            // A step always serializes to an object.
            _ => Map::new(),
        }
    }

    /// Parses the step of a log entry, if it is one.
    pub fn read(operation: &str, details: &Map<String, Value>) -> Option<Self> {
        let mut details = details.clone();
        details.insert("operation".into(), operation.into());
        serde_json::from_value(Value::Object(details)).ok()
    }
}
