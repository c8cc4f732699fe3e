//! Positions in a text: lines, indentation, blanks.

/// Returns the line of a byte, from 1.
pub(crate) fn line(text: &str, at: usize) -> usize {
    1 + text.as_bytes()[..at.min(text.len())].iter().filter(|byte| **byte == b'\n').count()
}

/// Returns line and column (in characters) of a byte, both from 1.
pub(crate) fn line_and_column(text: &str, at: usize) -> (usize, usize) {
    let at = (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    (line(text, at), 1 + text[line_start(text, at)..at].chars().count())
}

/// Returns the start of the line of a byte.
pub(crate) fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |newline| newline + 1)
}

/// Returns the end of the line of a byte, before its line break.
pub(crate) fn line_end(text: &str, at: usize) -> usize {
    let end = text[at..].find('\n').map_or(text.len(), |newline| at + newline);
    if end > at && text[..end].ends_with('\r') { end - 1 } else { end }
}

/// Returns the start of the next line after a byte; the text's end if there is none.
pub(crate) fn next_line(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |newline| at + newline + 1)
}

/// Returns the blanks at the start of the line of a byte.
pub(crate) fn indent(text: &str, at: usize) -> &str {
    let line = &text[line_start(text, at)..];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// Returns the line break of the text's first line.
pub(crate) fn newline(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

/// Returns the start of the blanks before a byte.
pub(crate) fn blanks_before(text: &str, at: usize) -> usize {
    text[..at].trim_end_matches([' ', '\t']).len()
}

/// Returns `text` with the bytes from `start` to `end` replaced.
pub(crate) fn splice(text: &str, start: usize, end: usize, new: &str) -> String {
    [&text[..start], new, &text[end..]].concat()
}

/// Returns `text` with a line break at its end, if it has any lines.
pub(crate) fn ended(text: &str) -> String {
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { newline(text) };
    [text, end].concat()
}
