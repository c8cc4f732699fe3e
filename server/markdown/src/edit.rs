//! Edits: the five operations, and plans of their effect on a text.
//!
//! A plan is a splice: it replaces some bytes of the old text and leaves all others. Preview and execution use the same plan,
//! so the preview shows exactly what happens.

use std::ops::Range;

use super::bounds::{self, StructureError};
use super::outline::{Outline, Section};
use super::target::TargetError;
use super::{Flavor, outside, seams};

/// An edit of a document. `content` is inserted verbatim; `target` is resolved by [`Outline::find`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edit<'a> {
    /// Adds the content at the end of the document.
    Append {
        /// The Markdown to add.
        content: &'a str,
    },
    /// Adds the content at the start of the document, after a byte order mark and front matter.
    Prepend {
        /// The Markdown to add.
        content: &'a str,
    },
    /// Replaces a section: its heading, text and children.
    ReplaceSection {
        /// The section to replace.
        target: &'a str,
        /// The Markdown that replaces it; the empty string deletes the section.
        content: &'a str,
    },
    /// Inserts the content before a section's heading.
    InsertBefore {
        /// The section to insert before.
        target: &'a str,
        /// The Markdown to add.
        content: &'a str,
    },
    /// Inserts the content after a section and its children.
    InsertAfter {
        /// The section to insert after.
        target: &'a str,
        /// The Markdown to add.
        content: &'a str,
    },
}

impl<'a> Edit<'a> {
    /// Returns the operation's name in the contract.
    pub fn name(&self) -> &'static str {
        match self {
            Edit::Append { .. } => "append",
            Edit::Prepend { .. } => "prepend",
            Edit::ReplaceSection { .. } => "replace_section",
            Edit::InsertBefore { .. } => "insert_before",
            Edit::InsertAfter { .. } => "insert_after",
        }
    }

    /// Returns the target, if the operation has one.
    pub fn target(&self) -> Option<&'a str> {
        match *self {
            Edit::Append { .. } | Edit::Prepend { .. } => None,
            Edit::ReplaceSection { target, .. }
            | Edit::InsertBefore { target, .. }
            | Edit::InsertAfter { target, .. } => Some(target),
        }
    }

    /// Returns the content.
    pub fn content(&self) -> &'a str {
        match *self {
            Edit::Append { content }
            | Edit::Prepend { content }
            | Edit::ReplaceSection { content, .. }
            | Edit::InsertBefore { content, .. }
            | Edit::InsertAfter { content, .. } => content,
        }
    }

    /// Returns the range of `text` that the content replaces; empty for an insertion.
    fn removes(&self, text: &str, outline: &Outline) -> Result<Range<usize>, TargetError> {
        let at = |position: usize| position..position;
        let section = |target: &str| outline.find(text, target);
        Ok(match self {
            Edit::Append { .. } => at(text.len()),
            Edit::Prepend { .. } => at(outline.front_matter().end),
            Edit::ReplaceSection { target, .. } => section(target).map(|s| s.heading.start..s.end)?,
            Edit::InsertBefore { target, .. } => at(section(target)?.heading.start),
            Edit::InsertAfter { target, .. } => at(section(target)?.end),
        })
    }
}

/// The planned effect of an edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The new text: the old one with `removed` replaced by `inserted`.
    pub text: String,
    /// The removed bytes of the old text.
    pub removed: Range<usize>,
    /// The inserted bytes of the new text: the content with separating line endings.
    pub inserted: Range<usize>,
    /// Headings of the old text outside the splice that the edit destroys, for instance with an unclosed fence. Positions are
    /// those in the old text.
    pub lost: Vec<Section>,
    /// Headings of the new text outside the splice that the edit creates. Positions are those in the new text.
    pub gained: Vec<Section>,
    /// Whether the edit turns bytes outside the splice into front matter, or the other way round.
    pub front_matter_changed: bool,
}

/// Why an edit can't be planned.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// The target names no section, or several.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The text has, or would have, too much structure.
    #[error(transparent)]
    Structure(#[from] StructureError),
}

/// Plans an edit of `old`.
///
/// Linear: parses the old text once, and the new one at most three times, to try separators.
///
/// # Errors
/// [`EditError`].
pub fn plan(old: &str, flavor: Flavor, edit: &Edit<'_>) -> Result<Plan, EditError> {
    bounds::check(&[old, edit.content()])?;
    let before = Outline::parse(old, flavor);
    let removed = edit.removes(old, &before)?;
    let splice = seams::splice(old, &before, flavor, removed, edit.content());
    let (lost, gained) = outside::headings(&before, &splice);
    let front_matter_changed = outside::front_matter_changed(&before, &splice);
    let seams::Splice {
        text,
        removed,
        inserted,
        ..
    } = splice;
    Ok(Plan {
        text,
        removed,
        inserted,
        lost,
        gained,
        front_matter_changed,
    })
}
