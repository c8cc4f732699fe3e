//! A section's own text, and the blank lines around it.

use std::ops::Range;

use super::super::{Flavor, Outline, outline::Section, target::Written};

const BLANK: [char; 4] = [' ', '\t', '\n', '\r'];
const ENDING: [char; 2] = ['\n', '\r'];

/// The text of a section of `text` without its heading, its children and the blank lines around it.
pub fn content<'t>(text: &'t str, section: &Section) -> &'t str {
    let body = &text[section.heading.end..section.body_end];
    &body[core(body)]
}

/// The heading of a section of `text` as it is written, without `#` or underline.
pub fn title(text: &str, section: &Section) -> String {
    Written::of(section, text).text
}

/// The range of `text` without the blank lines around it and without its last line's ending: empty, at its end, when
/// all of it is blank.
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

/// The line ending that `text` starts with; empty where it starts with none.
pub(super) fn ending_at_start(text: &str) -> &str {
    let length = match text.as_bytes() {
        [b'\r', b'\n', ..] => 2,
        [b'\r' | b'\n', ..] => 1,
        _ => 0,
    };
    &text[..length]
}

/// Whether the first line of `text` is blank, and there is one.
pub(super) fn starts_blank(text: &str) -> bool {
    text.trim_start_matches([' ', '\t']).starts_with(ENDING)
}

/// Whether the last line of `text` has an ending and is blank.
pub(super) fn ends_blank(text: &str) -> bool {
    let line = text
        .strip_suffix("\r\n")
        .or_else(|| text.strip_suffix(ENDING))
        .unwrap_or_default();
    line.trim_end_matches([' ', '\t']).ends_with(ENDING)
}

/// What a caller gave as content, without the blank lines around it, and without the section's own heading, should it
/// begin with that.
pub(super) fn given<'t>(content: &'t str, flavor: Flavor, level: u8, title: &str) -> &'t str {
    let content = &content[core(content)];
    // A heading can only be the own one where the content begins with its text or a `#`.
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
