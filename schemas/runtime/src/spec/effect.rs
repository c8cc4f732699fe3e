//! What calls do to documents.

use serde_json::Value;

use super::ToolSpec;
use crate::vocabulary::vocabulary;

/// What a call does to the document at the tool's path, so that it can be checked on the document itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effect {
    /// What is done.
    pub kind: EffectKind,
    /// Which requests have this effect; without it, all of them.
    pub when: Option<When>,
    /// JSON pointer to the text, or the object of [`EffectKind::AppendLine`]: in the response for the kinds that read, else in the request. None to delete.
    pub content: Option<&'static str>,
    /// JSON pointer in the request to the name of a heading, for the kinds that find a section by it, and to the new
    /// heading for [`EffectKind::InsertSection`].
    pub target: Option<&'static str>,
    /// JSON pointer in the request to the id of a section, for the kinds that find it by that.
    pub section: Option<&'static str>,
    /// JSON pointer in the request to a place in the order of all sections, counted from 0, for the kinds that put one
    /// there.
    pub position: Option<&'static str>,
}

/// A condition on a request: at `at` stands the string `is`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct When {
    /// JSON pointer in the request.
    pub at: &'static str,
    /// The string there.
    pub is: &'static str,
}

vocabulary! {
    /// What can be done to a document. All but [`Read`](Self::Read) and [`ReadSection`](Self::ReadSection) are effects of
    /// mutating tools alone.
    #[serde(rename_all = "snake_case")]
    pub enum EffectKind {
        /// The response has the document's whole text.
        Read,
        /// The document becomes exactly the text, whether or not it was there.
        Write,
        /// The document goes.
        Delete,
        /// The text is added at the end.
        Append,
        /// The object is added at the end as one line of JSON, with its members in the order in which they came.
        AppendLine,
        /// The text is added at the beginning.
        Prepend,
        /// The text takes the place of the section.
        ReplaceSection,
        /// The text is put before the section.
        InsertBefore,
        /// The text is put after the section.
        InsertAfter,
        /// The response has the section's own text, without its heading and the sections in it.
        ReadSection,
        /// A section with a heading and the text becomes the one at the position.
        InsertSection,
        /// The text becomes the section's own text.
        UpdateSection,
        /// The section goes, with the sections in it.
        DeleteSection,
        /// The section, with the sections in it, becomes the one at the position.
        MoveSection,
        /// The last change that has not been undone is.
        Undo,
        /// The last change that was undone is made again.
        Redo,
    }
}

impl EffectKind {
    /// Whether it changes nothing.
    pub fn reads(self) -> bool {
        matches!(self, Self::Read | Self::ReadSection)
    }
}

impl ToolSpec {
    /// What the call with this request does to the document, if the contract says it.
    pub fn effect(&self, request: &Value) -> Option<&'static Effect> {
        let holds = |when: When| request.pointer(when.at).and_then(Value::as_str) == Some(when.is);
        self.effects.iter().find(|effect| effect.when.is_none_or(holds))
    }
}
