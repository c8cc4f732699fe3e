//! Deletes a section.

use super::{ParsedDocument, SectionError, SectionPlan, splice};

/// Deletes the section at `position` with its heading, its text and all sections below it.
///
/// # Errors
/// If the change would alter the structure outside the section.
///
/// # Panics
/// If there is no section at `position`.
pub fn delete(document: &ParsedDocument<'_>, position: usize) -> Result<SectionPlan, SectionError> {
    let section = &document.sections()[position];
    let done = splice(document, section.heading.start..section.end, "")?;
    Ok(SectionPlan {
        text: done.text,
        outline: done.outline.into(),
        position,
        sections: document.subtree_size(position),
    })
}
