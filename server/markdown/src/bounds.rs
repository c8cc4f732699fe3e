//! How much structure a text may have, so that no file takes all memory to parse.
//!
//! What a parser keeps grows with a text's lines and marks, not with its bytes: ten million bytes of prose take some
//! 50 MB, and as many of `#` and a line ending 2.4 GB. At the bounds it is less than half a gigabyte.

use super::lines;

/// The most lines of a text that is parsed.
pub const MAX_LINES: usize = 1_000_000;
/// The most characters in it that may be markup within a line.
pub const MAX_MARKS: usize = 4_000_000;

/// A text has too much structure to be parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TooMuch {
    /// It has so many lines.
    #[error(
        "it has {0} lines, more than the {MAX_LINES} in which sections are looked for; split the file, or write it whole"
    )]
    Lines(usize),
    /// It has so many characters that may be markup.
    #[error(
        "it has {0} characters of markup, more than the {MAX_MARKS} that are looked at; split the file, or write it whole"
    )]
    Marks(usize),
}

/// Fails where `parts` together are too much.
///
/// # Errors
/// [`TooMuch`].
pub(super) fn check(parts: &[&str]) -> Result<(), TooMuch> {
    let count = |of: fn(&str) -> usize| parts.iter().map(|part| of(part)).sum::<usize>();
    // What has no more bytes than that has no more of anything.
    let bytes = count(str::len);
    if bytes > MAX_LINES {
        let lines = count(lines_of);
        if lines > MAX_LINES {
            return Err(TooMuch::Lines(lines));
        }
    }
    if bytes > MAX_MARKS {
        let marks = count(marks_of);
        if marks > MAX_MARKS {
            return Err(TooMuch::Marks(marks));
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

/// Which bytes may be markup.
const IS_MARK: [bool; 256] = {
    let (mut is_mark, marks, mut at) = ([false; 256], b"[]!<&`*_~|\\>-", 0);
    while at < marks.len() {
        is_mark[marks[at] as usize] = true;
        at += 1;
    }
    is_mark
};
