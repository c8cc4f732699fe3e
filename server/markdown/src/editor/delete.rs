//! Deletes a section.

use super::{Parsed, SectionError, SectionPlan, splice};

/// Deletes the section at `position`: its heading, its text and its children.
///
/// # Errors
/// [`SectionError`].
///
/// # Panics
/// If there is no section at `position`.
pub fn delete(document: &Parsed<'_>, position: usize) -> Result<SectionPlan, SectionError> {
    let section = &document.sections()[position];
    let done = splice(document, section.heading.start..section.end, "")?;
    Ok(SectionPlan {
        text: done.text,
        outline: done.outline.into(),
        position,
        sections: document.size(position),
    })
}
