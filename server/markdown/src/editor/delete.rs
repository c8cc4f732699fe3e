//! A section that goes.

use super::{Parsed, SectionError, SectionPlan, splice};

/// Takes the section at `position` out, with its heading, its text and all that stand below it.
///
/// # Errors
/// [`SectionError`].
///
/// # Panics
/// When there is no section at `position`.
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
