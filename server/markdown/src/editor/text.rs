//! A section's own text, without the blank lines around it.

use std::ops::Range;

use super::super::{Flavor, Outline, lines::composed, section::Section, target::HeadingLine};

const BLANK: [char; 4] = [' ', '\t', '\n', '\r'];
/// The characters of line endings.
pub(super) const ENDING: [char; 2] = ['\n', '\r'];

/// Returns a section's own text, without its heading, its children and the blank lines around it.
pub fn content<'t>(text: &'t str, section: &Section) -> &'t str {
    let body = &text[section.heading.end..section.body_end];
    &body[core(body)]
}

/// Returns a section's text with its children, without its heading and the blank lines around it.
pub fn content_with_children<'t>(text: &'t str, section: &Section) -> &'t str {
    let body = &text[section.heading.end..section.end];
    &body[core(body)]
}

/// Returns a section's heading as written, without `#` or underline.
pub fn title(text: &str, section: &Section) -> String {
    HeadingLine::from_section(section, text).text
}

/// Returns the range of `text` without the blank lines around it and without its last line ending; an empty range at the
/// end if all of `text` is blank.
pub(super) fn core(text: &str) -> Range<usize> {
    let start = text.len() - text.trim_start_matches(BLANK).len();
    if start == text.len() {
        return start..start;
    }
    let start = text[..start].rfind(ENDING).map_or(0, |ending| ending + 1);
    let last = text.trim_end_matches(BLANK).len();
    let end = text[last..].find(ENDING).map_or(text.len(), |ending| last + ending);
    start..end
}

/// Returns true if `text` starts with a blank line.
pub(super) fn starts_blank(text: &str) -> bool {
    text.trim_start_matches([' ', '\t']).starts_with(ENDING)
}

/// Returns a caller's content without the blank lines around it, and without the section's own heading if it begins with
/// that.
pub(super) fn trim_content<'t>(content: &'t str, flavor: Flavor, level: u8, title: &str) -> &'t str {
    let content = &content[core(content)];
    let outline = Outline::parse(content, flavor);
    let is_own = |section: &&Section| {
        section.heading.start == 0
            && section.level == level
            && composed(&self::title(content, section)) == composed(title)
    };
    match outline.sections().first().filter(is_own) {
        Some(section) => {
            let rest = &content[section.heading.end..];
            &rest[core(rest)]
        }
        None => content,
    }
}
