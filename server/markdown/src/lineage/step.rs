//! What a change did to the list of sections, as its log entry keeps it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::SectionId;

/// A change of the list of sections. A position is one in the list, before the change for what goes and afterwards for what
/// comes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "operation", rename_all = "lowercase")]
pub enum Step {
    /// A section came, with others in its content.
    Insert {
        /// The new section.
        section_id: SectionId,
        /// Its heading, for people.
        heading: String,
        /// Where it is.
        position: usize,
        /// How many sections came, itself among them.
        sections: usize,
    },
    /// A section went, with all below it.
    Delete {
        /// The section.
        section_id: SectionId,
        /// Its heading, for people.
        heading: String,
        /// Where it was.
        position: usize,
        /// How many sections went, itself among them.
        sections: usize,
    },
    /// A section got another text.
    Update {
        /// The section.
        section_id: SectionId,
        /// Its heading, for people.
        heading: String,
        /// Where it is.
        position: usize,
        /// How many sections came in the new text.
        sections: usize,
    },
    /// A section moved, with all below it.
    Move {
        /// The section.
        section_id: SectionId,
        /// Its heading, for people.
        heading: String,
        /// Where it was.
        from: usize,
        /// Where it is.
        position: usize,
        /// How many sections moved, itself among them.
        sections: usize,
    },
    /// A change was taken back.
    Undo {
        /// The commit of that change.
        undoes: String,
    },
    /// A change that had been taken back was made again.
    Redo {
        /// The commit of that change.
        redoes: String,
    },
}

impl Step {
    /// The step in one word.
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

    /// The step in one line, for people.
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

    /// What a log entry keeps of it beside the word.
    pub fn details(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(mut details)) => {
                details.remove("operation");
                details
            }
            // Whatever it is made of has a form in JSON.
            _ => Map::new(),
        }
    }

    /// The step of a log entry, if it is one.
    pub fn read(operation: &str, details: &Map<String, Value>) -> Option<Self> {
        let mut details = details.clone();
        details.insert("operation".into(), operation.into());
        serde_json::from_value(Value::Object(details)).ok()
    }
}
