//! Finds the reason why a text is not valid MDX, with the parser `markdown`. It reads tags and braces, but no JavaScript.

use std::panic;

use markdown::{Constructs, ParseOptions, message::Place};

use super::{front_matter, lines};

/// Upper bound of the bytes of a text that is checked.
const MAX_BYTES: usize = 512 * 1024;
/// Upper bound of the lines and the characters that may be markup, together: the parser's time grows with their square.
const MAX_MARKS: usize = 16_000;
/// Upper bound of the blocks that may contain the start of a line.
const MAX_DEPTH: usize = 50;

/// Reason why a text is not valid MDX.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: not valid MDX: {reason}")]
pub struct MdxError {
    /// The line, counted from 1.
    pub line: usize,
    /// The parser's reason, on one line.
    pub reason: String,
}

/// Returns the first reason why `text` is not valid MDX; `None` if it is valid, or too large or too deeply nested to be
/// checked in time.
pub fn mdx_error(text: &str) -> Option<MdxError> {
    if !is_checkable(text) {
        return None;
    }
    let masked = lines::mask_lone_cr(text);
    let (front, body) = masked.split_at(front_matter::find(&masked).end);
    // Empty lines in place of the front matter preserve line numbers.
    let text = "\n".repeat(front.matches('\n').count()) + body;
    let options = || ParseOptions { constructs: Constructs::mdx(), ..ParseOptions::default() };
    // A panic of the parser is not evidence against the text.
    let parsed = panic::catch_unwind(|| markdown::to_mdast(&text, &options()).err());
    let message = parsed.ok().flatten()?;
    let line = message.place.as_deref().map_or(1, |place| match place {
        Place::Point(point) => point.line,
        Place::Position(position) => position.start.line,
    });
    Some(MdxError { line, reason: lines::join_lines(&message.reason) })
}

/// Returns true if the parser reads the text in about a second.
fn is_checkable(text: &str) -> bool {
    let is_mark = |byte: u8| b"\n\r[]!<&`*_~|\\>-+#={}".contains(&byte);
    text.len() <= MAX_BYTES
        && text.bytes().filter(|byte| is_mark(*byte)).count() <= MAX_MARKS
        && text.split(['\n', '\r']).all(|line| depth(line) <= MAX_DEPTH)
}

/// Returns an upper bound of the quotes and lists that contain the start of a line: one for each marker, and one for every
/// two columns of white space, which is the least that continues a list item.
fn depth(line: &str) -> usize {
    let (mut markers, mut columns) = (0, 0);
    let mut rest = line.trim_end().bytes().peekable();
    while let Some(byte) = rest.next() {
        match byte {
            b' ' => columns += 1,
            b'\t' => columns += 4,
            b'0'..=b'9' => {}
            b'>' => markers += 1,
            b'-' | b'+' | b'*' | b'.' | b')' if matches!(rest.peek(), None | Some(b' ' | b'\t')) => {
                markers += 1;
            }
            _ => break,
        }
    }
    markers + columns / 2
}
