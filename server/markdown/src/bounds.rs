//! Limits on a text's structure, which keep parsing from exhausting memory.
//!
//! A parser's memory grows with a text's lines and marks, not with its bytes: ten million bytes of prose take some
//! 50 MB, ten million bytes of `#` and line endings 2.4 GB. At the limits it takes less than half a gigabyte.

use super::lines;

/// Upper bound of the lines of a text that is parsed.
pub const MAX_LINES: usize = 1_000_000;
/// Upper bound of the characters of a text that may be inline markup.
pub const MAX_MARKS: usize = 4_000_000;

/// A text has too much structure to be parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LimitError {
    /// The text has this many lines.
    #[error("it has {0} lines, more than the {MAX_LINES} in which sections are looked for; split the file")]
    Lines(usize),
    /// The text has this many characters that may be markup.
    #[error("it has {0} characters of markup, more than the {MAX_MARKS} that are looked at; split the file")]
    Marks(usize),
}

/// Checks that `parts` together are within the limits.
///
/// # Errors
/// If they exceed one.
pub(super) fn check(parts: &[&str]) -> Result<(), LimitError> {
    let count = |of: fn(&str) -> usize| parts.iter().map(|part| of(part)).sum::<usize>();
    // A text has no more lines or marks than bytes.
    let bytes = count(str::len);
    if bytes > MAX_LINES {
        let lines = count(lines_of);
        if lines > MAX_LINES {
            return Err(LimitError::Lines(lines));
        }
    }
    if bytes > MAX_MARKS {
        let marks = count(marks_of);
        if marks > MAX_MARKS {
            return Err(LimitError::Marks(marks));
        }
    }
    Ok(())
}

fn lines_of(text: &str) -> usize {
    let (crlf, lf, cr) = lines::endings(text.as_bytes());
    crlf + lf + cr
}

fn marks_of(text: &str) -> usize {
    text.bytes().map(|byte| usize::from(IS_MARK[usize::from(byte)])).sum()
}

/// True for bytes that may be markup.
const IS_MARK: [bool; 256] = {
    let (mut is_mark, marks, mut at) = ([false; 256], b"[]!<&`*_~|\\>-", 0);
    while at < marks.len() {
        is_mark[marks[at] as usize] = true;
        at += 1;
    }
    is_mark
};
