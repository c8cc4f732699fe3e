//! Replaces a section's own text.

use std::{ops::Range, sync::Arc};

use super::super::lines;
use super::error::shown;
use super::{ParsedDocument, SectionError, SectionPlan, check_below, splice, text};

/// Replaces the own text of the section at `position`. Its heading, its children and the blank lines around the text stay.
/// Content may begin with the section's own heading.
///
/// # Errors
/// If the change would alter the structure outside the section.
///
/// # Panics
/// If there is no section at `position`.
pub fn update(
    document: &ParsedDocument<'_>,
    position: usize,
    content: &str,
) -> Result<SectionPlan, SectionError> {
    let sections = document.sections();
    let section = &sections[position];
    let old = text::content(document.text, section);
    let title = text::title(document.text, section);
    let content = text::trim_content(content, document.flavor, section.level, &title);
    if content == old {
        return Ok(SectionPlan {
            text: document.text.into(),
            outline: Arc::clone(&document.outline),
            position,
            sections: 0,
        });
    }

    let body = section.heading.end..section.body_end;
    let (removed, piece) = match (old.is_empty(), content.is_empty()) {
        (_, true) => (range_to_empty(document.text, body), String::new()),
        (false, false) => replace_body(document.text, body, content),
        (true, false) => fill_body(document.text, body, content),
    };
    let done = splice(document, removed, &piece)?;
    let after = done.outline.sections();
    let added = after.len() - sections.len();
    check_below(&after[position + 1..position + 1 + added], &done.text, section.level)?;
    let moved = |index: usize| if index <= position { index } else { index + added };
    for (index, before) in sections.iter().enumerate().skip(position + 1) {
        if after[moved(index)].parent != before.parent.map(moved) {
            return Err(SectionError::Reparents { heading: shown(document.text, before) });
        }
    }
    Ok(SectionPlan { text: done.text, outline: done.outline.into(), position, sections: added })
}

/// Returns the range to remove to empty a body: all but the blank lines on one side, or all of it at the end of the
/// document.
fn range_to_empty(text: &str, body: Range<usize>) -> Range<usize> {
    let core = text::core(&text[body.clone()]);
    let (start, end) = (body.start + core.start, body.start + core.end);
    if body.end == text.len() {
        body
    } else if start > body.start {
        start..body.end
    } else {
        start..end + lines::ending_at_start(&text[end..]).len()
    }
}

/// Returns the splice that replaces the text of a body. The last line keeps its ending.
fn replace_body(text: &str, body: Range<usize>, content: &str) -> (Range<usize>, String) {
    let core = text::core(&text[body.clone()]);
    let (start, end) = (body.start + core.start, body.start + core.end);
    let ending = lines::ending_at_start(&text[end..]);
    (start..end + ending.len(), format!("{content}{ending}"))
}

/// Returns the splice that fills an empty body, with a blank line towards the text on either side.
fn fill_body(text: &str, body: Range<usize>, content: &str) -> (Range<usize>, String) {
    let ending = lines::ending_of(text);
    let is_blank = text::starts_blank(&text[body.clone()]);
    let at = if is_blank {
        let blank = text[body.clone()].find(['\n', '\r']).unwrap_or_default();
        body.start + blank + lines::ending_at_start(&text[body.start + blank..]).len()
    } else {
        // A heading at the end of the document may lack a line ending, or have spaces after it.
        body.end
    };
    let right = &text[at..];
    let before = if is_blank { "" } else { ending };
    let after = match right {
        "" if !text.ends_with(['\n', '\r']) => String::new(),
        "" => ending.into(),
        right if text::starts_blank(right) => ending.into(),
        _ => ending.repeat(2),
    };
    (at..at, format!("{before}{content}{after}"))
}
