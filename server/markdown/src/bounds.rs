//! Limits of a text's structure, so that parsing can't exhaust the memory.
//!
//! A parser's memory grows with lines and marks, not with bytes: ten million bytes of prose take some 50 MB, and as many of
//! `#` with line endings 2.4 GB. At the limits it is less than half a gigabyte.

use super::lines;

/// Upper bound of the lines of a parsed text.
pub const MAX_LINES: usize = 1_000_000;
/// Upper bound of characters that may be inline markup.
pub const MAX_MARKS: usize = 4_000_000;

/// The text has too much structure to be parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum StructureError {
    /// Number of lines.
    #[error(
        "it has {0} lines, more than the {MAX_LINES} that can be parsed; split the file, or write it whole"
    )]
    Lines(usize),
    /// Number of characters that may be markup.
    #[error(
        "it has {0} characters of markup, more than the {MAX_MARKS} that can be parsed; split the file, or write it whole"
    )]
    Marks(usize),
}

/// Fails if `parts` together exceed the limits.
///
/// # Errors
/// [`StructureError`].
pub(super) fn check(parts: &[&str]) -> Result<(), StructureError> {
    let count = |of: fn(&str) -> usize| parts.iter().map(|part| of(part)).sum::<usize>();
    // A text with fewer bytes than the limits can't exceed them.
    let bytes = count(str::len);
    if bytes > MAX_LINES {
        let lines = count(lines_of);
        if lines > MAX_LINES {
            return Err(StructureError::Lines(lines));
        }
    }
    if bytes > MAX_MARKS {
        let marks = count(marks_of);
        if marks > MAX_MARKS {
            return Err(StructureError::Marks(marks));
        }
    }
    Ok(())
}

fn lines_of(text: &str) -> usize {
    let (crlf, lf, cr) = lines::endings(text);
    crlf + lf + cr
}

fn marks_of(text: &str) -> usize {
    text.bytes()
        .map(|byte| usize::from(IS_MARK[usize::from(byte)]))
        .sum()
}

/// Bytes that may be markup.
const IS_MARK: [bool; 256] = {
    let (mut is_mark, marks, mut at) = ([false; 256], b"[]!<&`*_~|\\>-", 0);
    while at < marks.len() {
        is_mark[marks[at] as usize] = true;
        at += 1;
    }
    is_mark
};
