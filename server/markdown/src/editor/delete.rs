//! Deletes a section.

use std::ops::Range;

use super::super::{lines, section::Section};
use super::{ParsedDocument, SectionError, SectionPlan, splice, text};

/// Deletes the section at `position` with its heading, its text and all sections below it. At the document's end, the blank lines above
/// it go with it.
///
/// # Errors
/// If the change would alter the structure outside the section.
///
/// # Panics
/// If there is no section at `position`.
pub fn delete(document: &ParsedDocument<'_>, position: usize) -> Result<SectionPlan, SectionError> {
    let section = &document.sections()[position];
    let done = splice(document, removed(document.text, section), "")?;
    Ok(SectionPlan {
        text: done.text,
        outline: done.outline.into(),
        position,
        sections: document.subtree_size(position),
    })
}

/// Returns the range to remove: the section and, if it is the last of several, the blank lines above it.
fn removed(text: &str, section: &Section) -> Range<usize> {
    let (start, end) = (section.heading.start, section.end);
    let above = text[..start].trim_start_matches(lines::BOM);
    if end < text.len() || above.trim().is_empty() {
        return start..end;
    }
    let last = text[..start].trim_end_matches(text::ENDING).len();
    last + lines::ending_at_start(&text[last..]).len()..end
}
