//! Lines and line endings as CommonMark defines them: `\n`, `\r\n`, or a lone `\r`.

use std::borrow::Cow;

use memchr::memchr_iter;
use unicode_normalization::UnicodeNormalization as _;

/// The byte order mark at the start of a file, which is not part of its text and never moves.
pub(super) const BOM: char = '\u{feff}';

/// Replaces each lone `\r` by `\n`, which keeps all positions. pulldown-cmark does not recognize a lone `\r`.
pub(super) fn mask_lone_cr(text: &str) -> Cow<'_, str> {
    if !text.contains('\r') {
        return Cow::Borrowed(text);
    }
    let mut masked = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(cr) = rest.find('\r') {
        masked.push_str(&rest[..cr]);
        rest = &rest[cr + 1..];
        masked.push(if rest.starts_with('\n') { '\r' } else { '\n' });
    }
    masked.push_str(rest);
    Cow::Owned(masked)
}

/// Replaces tabs at the ends of lines, and those before the closing `#` of a heading, by spaces, which keeps all positions.
/// pulldown-cmark takes the closing `#` next to a tab for text.
pub(super) fn mask_final_tabs(masked: &str) -> Cow<'_, str> {
    if !masked.contains('\t') {
        return Cow::Borrowed(masked);
    }
    let mut text = String::with_capacity(masked.len());
    for line in masked.split_inclusive('\n') {
        let blanks = [' ', '\t', '\r', '\n'];
        let mut kept = line.trim_end_matches(blanks);
        if kept.trim_start_matches(' ').starts_with('#') {
            kept = kept.trim_end_matches('#').trim_end_matches(blanks);
        }
        text.push_str(kept);
        text.push_str(&line[kept.len()..].replace('\t', " "));
    }
    Cow::Owned(text)
}

/// Returns the start of the line that contains `position`. `masked` has no lone `\r`.
pub(super) fn line_start(masked: &str, position: usize) -> usize {
    masked[..position].rfind('\n').map_or(0, |newline| newline + 1)
}

/// Returns the number of the line that contains `position`, from 1. `masked` has no lone `\r`.
pub(super) fn number(masked: &str, position: usize) -> usize {
    1 + memchr_iter(b'\n', &masked.as_bytes()[..position]).count()
}

/// Returns the end, including the line ending, of the line that contains the byte before `position`: `position` itself if
/// that starts a line. `masked` has no lone `\r`.
pub(super) fn line_end(masked: &str, position: usize) -> usize {
    if masked[..position].ends_with('\n') {
        return position;
    }
    masked[position..].find('\n').map_or(masked.len(), |newline| position + newline + 1)
}

/// Returns the text's most frequent line ending; of equally frequent ones the first of `\n`, `\r\n`, `\r`, so `\n` for a
/// text without line endings.
pub fn ending_of(text: &str) -> &'static str {
    let (crlf, lf, cr) = endings(text.as_bytes());
    if lf >= crlf && lf >= cr {
        "\n"
    } else if crlf >= cr {
        "\r\n"
    } else {
        "\r"
    }
}

/// Returns an earlier content with the line ending that is more frequent in the document `now`, `\n` or `\r\n`, if all of its own are the
/// other one: git may store other line endings than it writes, and a person's editor may replace all of them. Bytes with NUL are no
/// text, and stay.
pub fn with_endings_of<'b>(now: &[u8], earlier: &'b [u8]) -> Cow<'b, [u8]> {
    let (now_crlf, now_lf, _) = endings(now);
    let (crlf, lf, cr) = endings(earlier);
    let ending = if now_crlf > now_lf { "\r\n" } else { "\n" };
    let lines = earlier.split(|byte| *byte == b'\n');
    let lines: Vec<_> = match ending {
        _ if earlier.contains(&0) => return Cow::Borrowed(earlier),
        "\r\n" if crlf == 0 => lines.collect(),
        "\n" if lf == 0 && cr == 0 && now_lf > 0 => {
            lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line)).collect()
        }
        _ => return Cow::Borrowed(earlier),
    };
    lines.join(ending.as_bytes()).into()
}

/// Returns the numbers of `\r\n`, lone `\n` and lone `\r`, in this order.
pub(super) fn endings(bytes: &[u8]) -> (usize, usize, usize) {
    let crlf = memchr_iter(b'\r', bytes).filter(|at| bytes.get(at + 1) == Some(&b'\n')).count();
    let count = |byte| memchr_iter(byte, bytes).count() - crlf;
    (crlf, count(b'\n'), count(b'\r'))
}

/// Returns true if the last line of `text` is blank and has an ending.
pub(super) fn ends_with_blank_line(text: &str) -> bool {
    let line = text.strip_suffix("\r\n").or_else(|| text.strip_suffix(['\n', '\r']));
    line.map(|line| line.trim_end_matches([' ', '\t']))
        .is_some_and(|line| line.is_empty() || line.ends_with(['\n', '\r']))
}

/// Returns the line ending at the start of `text`, or the empty string.
pub(super) fn ending_at_start(text: &str) -> &str {
    let length = match text.as_bytes() {
        [b'\r', b'\n', ..] => 2,
        [b'\r' | b'\n', ..] => 1,
        _ => 0,
    };
    &text[..length]
}

/// Returns true if joining `left` and `right` would merge two lines, or merge a `\r` and a `\n` into one line ending.
pub(super) fn would_merge(left: &str, right: &str) -> bool {
    if left.is_empty() || right.is_empty() || left.ends_with('\n') {
        return false;
    }
    !left.ends_with('\r') || right.starts_with('\n')
}

/// Joins the trimmed non-empty lines of a text with spaces, for the comparison of headings of several lines.
pub(super) fn join_lines(text: &str) -> String {
    let lines: Vec<&str> =
        text.trim().split(['\n', '\r']).map(str::trim).filter(|line| !line.is_empty()).collect();
    lines.join(" ")
}

/// Returns a text in Unicode's normal form C, in which texts that look alike are equal.
pub(super) fn composed(text: &str) -> Cow<'_, str> {
    if text.is_ascii() { text.into() } else { text.nfc().collect::<String>().into() }
}
