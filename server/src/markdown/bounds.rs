//! How much structure a text may have, so that no file takes all memory to parse.
//!
//! What a parser keeps grows with a text's lines and marks, not with its bytes: ten million bytes of prose take some
//! 50 MB, and as many of `#` and a line ending 2.4 GB. At the bounds it is less than half a gigabyte.

use memchr::memchr_iter;

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
    let lines = count(|part| {
        let endings = |byte| memchr_iter(byte, part.as_bytes()).count();
        endings(b'\n') + endings(b'\r') - part.matches("\r\n").count()
    });
    if lines > MAX_LINES {
        return Err(TooMuch::Lines(lines));
    }
    let marks = count(|part| part.bytes().filter(|byte| is_mark(*byte)).count());
    if marks > MAX_MARKS {
        return Err(TooMuch::Marks(marks));
    }
    Ok(())
}

fn is_mark(byte: u8) -> bool {
    matches!(
        byte,
        b'[' | b']' | b'!' | b'<' | b'&' | b'`' | b'*' | b'_' | b'~' | b'|' | b'\\' | b'>' | b'-'
    )
}
