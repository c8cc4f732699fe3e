//! Edits: the five operations, and the plan of what one makes of a text.
//!
//! A plan is a splice: some bytes of the old text go, some come, and everything else stays as it is. Preview and
//! execution both work from the same plan, which is how a preview shows what happens.

use std::ops::Range;

use super::bounds::{self, TooMuch};
use super::outline::{Outline, Section};
use super::target::TargetError;
use super::{Flavor, outside, seams};

/// One edit of a document. `content` goes in verbatim; `target` is read as [`Outline::find`] says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edit<'a> {
    /// Puts the content at the end of the document.
    Append {
        /// The Markdown to add.
        content: &'a str,
    },
    /// Puts the content at the start of the document, after a byte order mark and front matter.
    Prepend {
        /// The Markdown to add.
        content: &'a str,
    },
    /// Puts the content in the place of a section: its heading, its text and its children.
    ReplaceSection {
        /// The section to replace.
        target: &'a str,
        /// The Markdown that takes its place; the empty string deletes the section.
        content: &'a str,
    },
    /// Puts the content before a section's heading.
    InsertBefore {
        /// The section to stand before.
        target: &'a str,
        /// The Markdown to add.
        content: &'a str,
    },
    /// Puts the content after a section and its children.
    InsertAfter {
        /// The section to stand after.
        target: &'a str,
        /// The Markdown to add.
        content: &'a str,
    },
}

impl<'a> Edit<'a> {
    /// Returns the operation's name, as contract 000 spells it.
    pub fn name(&self) -> &'static str {
        match self {
            Edit::Append { .. } => "append",
            Edit::Prepend { .. } => "prepend",
            Edit::ReplaceSection { .. } => "replace_section",
            Edit::InsertBefore { .. } => "insert_before",
            Edit::InsertAfter { .. } => "insert_after",
        }
    }

    /// Returns the section it names, if the operation has one.
    pub fn target(&self) -> Option<&'a str> {
        match *self {
            Edit::Append { .. } | Edit::Prepend { .. } => None,
            Edit::ReplaceSection { target, .. }
            | Edit::InsertBefore { target, .. }
            | Edit::InsertAfter { target, .. } => Some(target),
        }
    }

    /// Returns the Markdown it brings.
    pub fn content(&self) -> &'a str {
        match *self {
            Edit::Append { content }
            | Edit::Prepend { content }
            | Edit::ReplaceSection { content, .. }
            | Edit::InsertBefore { content, .. }
            | Edit::InsertAfter { content, .. } => content,
        }
    }

    /// Returns the bytes of `text` that its content takes the place of: an empty range where it only adds.
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

/// What an edit makes of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The new text: the old one with `removed` exchanged for `inserted`, every other byte unchanged.
    pub text: String,
    /// The bytes of the old text that go.
    pub removed: Range<usize>,
    /// The bytes of the new text that come: the content, and the line endings that keep it apart.
    pub inserted: Range<usize>,
    /// Headings of the old text outside the splice that are none any more, such as those that an unclosed fence in
    /// the content swallows. Their positions are those in the old text.
    pub lost: Vec<Section>,
    /// Headings of the new text outside the splice that were none before. Their positions are those in the new text.
    pub gained: Vec<Section>,
    /// Whether bytes outside the splice became front matter, or ceased to be.
    pub front_matter_changed: bool,
}

/// Why an edit can't be planned.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// The edit's target names no section, or more than one.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The text has too much structure to be parsed, or would have.
    #[error(transparent)]
    TooMuch(#[from] TooMuch),
}

/// Plans an edit of `old`.
///
/// Linear: the old text is parsed once, the new one three times at most, to try separators.
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
