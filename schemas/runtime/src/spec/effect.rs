//! Effects of calls on documents.

use serde::Deserialize;
use serde_json::Value;

use super::ToolSpec;
use crate::vocabulary::vocabulary;

/// The effect of a call on the document at the tool's path. Conformance checks compare it with the document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Effect {
    /// Its kind.
    #[serde(rename = "effect")]
    pub kind: EffectKind,
    /// The requests that have this effect; without it, all of them.
    pub when: Option<When>,
    /// JSON pointer to the text, or the object of [`EffectKind::AppendLine`]: in the response
    /// for the kinds that read, otherwise in the request. `None` for the kinds without text.
    pub content: Option<&'static str>,
    /// JSON pointer in the request to the name of a heading, for the kinds that find a section by it, and to the new
    /// heading for [`EffectKind::InsertSection`].
    pub target: Option<&'static str>,
    /// JSON pointer in the request to the id of a section, for the kinds that find it by that.
    pub section: Option<&'static str>,
    /// JSON pointer in the request to a position among all sections, counted from 0, for the kinds that insert or move one.
    pub position: Option<&'static str>,
}

/// A condition on a request: the value at `at` is the string `is`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct When {
    /// JSON pointer in the request.
    pub at: &'static str,
    /// The string there.
    pub is: &'static str,
}

vocabulary! {
    /// The effects on a document. All but [`Read`](Self::Read) and [`ReadSection`](Self::ReadSection) are effects of
    /// mutating tools alone.
    #[serde(rename_all = "snake_case")]
    pub enum EffectKind {
        /// The response contains the document's whole text.
        Read,
        /// The document becomes exactly the text, whether or not it existed.
        Write,
        /// The document is deleted.
        Delete,
        /// The text is added at the end.
        Append,
        /// The object is added at the end as one line of JSON, with its members in the order of the request.
        AppendLine,
        /// The text is added at the beginning.
        Prepend,
        /// The text replaces the section.
        ReplaceSection,
        /// The text is inserted before the section.
        InsertBefore,
        /// The text is inserted after the section.
        InsertAfter,
        /// The response contains the section's own text, without its heading and its subsections.
        ReadSection,
        /// A section with a heading and the text is inserted at the position.
        InsertSection,
        /// The text replaces the section's own text.
        UpdateSection,
        /// The section is deleted, with its subsections.
        DeleteSection,
        /// The section is moved to the position, with its subsections.
        MoveSection,
        /// The last change is undone.
        Undo,
        /// The last undone change is redone.
        Redo,
    }
}

impl EffectKind {
    /// Returns true if it does not change the document.
    pub fn reads(self) -> bool {
        matches!(self, Self::Read | Self::ReadSection)
    }
}

impl ToolSpec {
    /// Returns the effect of a call with this request, if the contract declares it.
    pub fn effect(&self, request: &Value) -> Option<&'static Effect> {
        let holds = |when: When| request.pointer(when.at).and_then(Value::as_str) == Some(when.is);
        self.effects.iter().find(|effect| effect.when.is_none_or(holds))
    }
}
