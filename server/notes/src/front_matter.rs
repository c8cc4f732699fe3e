//! Front matter of a note: read as YAML, or searched for one key where it can't be.
//!
//! A note fails closed: front matter that can't be read, that ends with `...` or that is never closed makes the note sensitive if a line
//! of it says so.

use tabellion_markdown::FrontMatter;

use crate::{Metadata, Problem, metadata::KEYS, scalar::is_false};

/// Returns the metadata of a document, and its problems. `end` is the end of the front matter, which is empty if it is not closed.
pub(crate) fn read(text: &str, end: usize) -> (Metadata, Vec<Problem>) {
    let (unread, problem) = match FrontMatter::parse(text) {
        Ok(front_matter) if front_matter.is_present() => {
            return Metadata::from_members(front_matter.values());
        }
        // No line ends it, so it may be the whole text.
        Ok(_) if is_opened(text) => (text, not_closed(text)),
        Ok(_) => return (Metadata::default(), vec![]),
        Err(error) => (&text[..end], Some((error.line(), error.to_string()))),
    };
    let metadata = Metadata { sensitive: says_sensitive(unread), ..Metadata::default() };
    let problem = problem.or_else(|| metadata.sensitive.then(|| (1, NOT_CLOSED.to_owned())));
    let problems = problem.map(|(line, message)| Problem::FrontMatter { line, message });
    (metadata, problems.into_iter().collect())
}

const NOT_CLOSED: &str =
    "line 1: the front matter is not closed, and is read as text; end it with a line `---` of its own";

fn is_opened(text: &str) -> bool {
    matches!(lines(text).next(), Some("---" | "+++"))
}

/// Returns the lines without blanks at their ends, for any line ending.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let text = text.trim_start_matches('\u{feff}');
    text.split('\n').flat_map(|line| line.trim_end().split('\r')).map(str::trim_end)
}

/// Returns the line and the message for a text that opens front matter and does not close it. A thematic break that a blank line or prose
/// follows opens none: there is no line with a key that has a meaning here, nor an end of YAML.
fn not_closed(text: &str) -> Option<(usize, String)> {
    let mut has_key = false;
    for (number, line) in (1..).zip(lines(text)).skip(1).take_while(|(_, line)| !line.is_empty()) {
        if line == "..." && has_key {
            let message = format!(
                "line {number}: the front matter ends with `...`, and is read as text; end it with `---`"
            );
            return Some((number, message));
        }
        let Some((key, _)) = member(line) else { continue };
        if KEYS.iter().any(|known| known.eq_ignore_ascii_case(key)) {
            has_key = true;
        }
    }
    has_key.then(|| (1, NOT_CLOSED.to_owned()))
}

/// Returns true if a line has the key `sensitive` in any case, with a value that is not a spelling of `false`.
fn says_sensitive(unread: &str) -> bool {
    let says = |(key, value): (&str, &str)| {
        let value = value.split(['}', '#']).next().unwrap_or_default();
        key.eq_ignore_ascii_case("sensitive") && !is_false(unquoted(value))
    };
    unread.split(['\n', '\r', '{', ',']).filter_map(member).any(says)
}

/// Returns the key and the value of a line `key: value`, or `key = value` of TOML.
fn member(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once([':', '='])?;
    Some((unquoted(key), value))
}

fn unquoted(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '-' | '?' | '\u{feff}'))
}
