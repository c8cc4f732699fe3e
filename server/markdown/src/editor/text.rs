//! A section's own text, and the blank lines around it.

use std::ops::Range;

use super::super::{Flavor, Outline, outline::Section, target::HeadingLine};

const BLANK: [char; 4] = [' ', '\t', '\n', '\r'];
const ENDING: [char; 2] = ['\n', '\r'];

/// Returns a section's text without its heading, its children and surrounding blank lines.
pub fn content<'t>(text: &'t str, section: &Section) -> &'t str {
    let body = &text[section.heading.end..section.body_end];
    &body[core(body)]
}

/// Returns a section's heading as written, without `#` or underline.
pub fn title(text: &str, section: &Section) -> String {
    HeadingLine::of(section, text).text
}

/// Returns the range of `text` without surrounding blank lines and without the ending of its last line; empty, at the end, if
/// everything is blank.
pub(super) fn core(text: &str) -> Range<usize> {
    let start = text.len() - text.trim_start_matches(BLANK).len();
    if start == text.len() {
        return start..start;
    }
    let start = text[..start].rfind(ENDING).map_or(0, |ending| ending + 1);
    let last = text.trim_end_matches(BLANK).len();
    let end = text[last..]
        .find(ENDING)
        .map_or(text.len(), |ending| last + ending);
    start..end
}

/// Returns the line ending at the start of `text`, or an empty string.
pub(super) fn ending_at_start(text: &str) -> &str {
    let length = match text.as_bytes() {
        [b'\r', b'\n', ..] => 2,
        [b'\r' | b'\n', ..] => 1,
        _ => 0,
    };
    &text[..length]
}

/// Returns true if `text` starts with a blank line.
pub(super) fn starts_blank(text: &str) -> bool {
    text.trim_start_matches([' ', '\t']).starts_with(ENDING)
}

/// Returns true if the last line of `text` has an ending and is blank.
pub(super) fn ends_blank(text: &str) -> bool {
    let line = text
        .strip_suffix("\r\n")
        .or_else(|| text.strip_suffix(ENDING))
        .unwrap_or_default();
    line.trim_end_matches([' ', '\t']).ends_with(ENDING)
}

/// Returns the content that a caller gave, without surrounding blank lines, and without the section's own heading if it
/// begins with that.
pub(super) fn given<'t>(content: &'t str, flavor: Flavor, level: u8, title: &str) -> &'t str {
    let content = &content[core(content)];
    // Only content that begins with the heading's text or a `#` can begin with the section's own heading.
    let outline = Outline::parse(content, flavor);
    let is_own = |section: &&Section| {
        section.heading.start == 0 && section.level == level && self::title(content, section) == title
    };
    match outline.sections().first().filter(is_own) {
        Some(section) => {
            let rest = &content[section.heading.end..];
            &rest[core(rest)]
        }
        None => content,
    }
}
