//! The five edit operations, and the plan of an edit.
//!
//! A plan replaces one range of the old text; all other bytes stay. Preview and execution use the same plan, so a preview
//! shows exactly what execution does.

use std::ops::Range;

use super::bounds::{self, LimitError};
use super::outline::Outline;
use super::section::Section;
use super::splice::Splice;
use super::target::TargetError;
use super::{Flavor, outside, seams};

/// One edit of a document. `content` is inserted verbatim; `target` is resolved by [`Outline::find`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edit<'a> {
    /// Inserts the content at the end of the document.
    Append {
        /// The Markdown to add.
        content: &'a str,
    },
    /// Inserts the content at the start of the document, after a byte order mark and front matter.
    Prepend {
        /// The Markdown to add.
        content: &'a str,
    },
    /// Replaces a section (its heading, its text and its children) with the content.
    ReplaceSection {
        /// The section to replace.
        target: &'a str,
        /// The Markdown that replaces it; the empty string deletes the section.
        content: &'a str,
    },
    /// Inserts the content before a section's heading.
    InsertBefore {
        /// The section before which the content is inserted.
        target: &'a str,
        /// The Markdown to add.
        content: &'a str,
    },
    /// Inserts the content after a section and its children.
    InsertAfter {
        /// The section after which the content is inserted.
        target: &'a str,
        /// The Markdown to add.
        content: &'a str,
    },
}

impl<'a> Edit<'a> {
    /// Returns the operation's name as the contract spells it.
    pub fn name(&self) -> &'static str {
        match self {
            Edit::Append { .. } => "append",
            Edit::Prepend { .. } => "prepend",
            Edit::ReplaceSection { .. } => "replace_section",
            Edit::InsertBefore { .. } => "insert_before",
            Edit::InsertAfter { .. } => "insert_after",
        }
    }

    /// Returns the operation's target, if it has one.
    pub fn target(&self) -> Option<&'a str> {
        match *self {
            Edit::Append { .. } | Edit::Prepend { .. } => None,
            Edit::ReplaceSection { target, .. }
            | Edit::InsertBefore { target, .. }
            | Edit::InsertAfter { target, .. } => Some(target),
        }
    }

    /// Returns the Markdown to insert.
    pub fn content(&self) -> &'a str {
        match *self {
            Edit::Append { content }
            | Edit::Prepend { content }
            | Edit::ReplaceSection { content, .. }
            | Edit::InsertBefore { content, .. }
            | Edit::InsertAfter { content, .. } => content,
        }
    }

    /// Returns the range of `text` that the content replaces; empty for an operation that only adds.
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

/// The result of an edit, not yet written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The new text: the old one with `removed` replaced by `inserted`, every other byte unchanged.
    pub text: String,
    /// The replaced range of the old text.
    pub removed: Range<usize>,
    /// The inserted range of the new text: the content, and the line endings that separate it.
    pub inserted: Range<usize>,
    /// Headings of the old text outside the splice that are no longer headings, for example because an unclosed fence in
    /// the content swallows them. Positions are those in the old text.
    pub lost: Vec<Section>,
    /// Headings of the new text outside the splice that were not headings before. Positions are those in the new text.
    pub gained: Vec<Section>,
    /// Number of headings in `removed` that are not in `inserted`.
    pub removed_headings: usize,
    /// True if the content is in a block of code or HTML that was open before it.
    pub is_hidden: bool,
    /// True if text after the content is in a block of code or HTML that the content opens.
    pub hides_text: bool,
    /// True if bytes outside the splice became front matter or ceased to be front matter.
    pub front_matter_changed: bool,
}

/// An edit can't be planned.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// The edit's target names no section, or more than one.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The old or new text has too much structure to be parsed.
    #[error(transparent)]
    Limit(#[from] LimitError),
}

/// Plans an edit of `old`.
///
/// The content is inserted verbatim. Line endings are added where it would merge with a line outside, and a blank line where
/// a block outside would change or where one stood above the next heading. They are the document's own: its most frequent
/// line ending, `\n` if it has none.
///
/// Content that only adds and starts with a row, an item or a line of a quote, where a table, such a list or a quote ends, continues
/// it: the blank lines below it stay below the content. Within a list item that holds for content with the item's indentation.
///
/// Parses the old text once, and the new one at most three times, to try separators.
///
/// # Errors
/// If the target is not exactly one section, or a text exceeds the parser's limits.
pub fn plan(old: &str, flavor: Flavor, edit: &Edit<'_>) -> Result<Plan, EditError> {
    bounds::check(&[old, edit.content()])?;
    let before = Outline::parse(old, flavor);
    let mut removed = edit.removes(old, &before)?;
    if removed.is_empty()
        && let Some(joint) = seams::joint(old, &before, removed.start, edit.content(), flavor)
    {
        removed = joint;
    }
    let content = seams::with_blank_line(old, &before, &removed, edit.content());
    let splice = seams::splice(old, &before, flavor, removed, &content);
    let (lost, gained) = outside::headings(&before, &splice);
    let front_matter_changed = outside::front_matter_changed(&before, &splice);
    let removed_headings = outside::removed_headings(&before, &splice);
    let [is_hidden, hides_text] = [splice.inserted.start, splice.inserted.end]
        .map(|position| outside::is_hidden(&splice.outline, position));
    let Splice { text, removed, inserted, .. } = splice;
    Ok(Plan {
        text,
        removed,
        inserted,
        lost,
        gained,
        removed_headings,
        is_hidden,
        hides_text,
        front_matter_changed,
    })
}
