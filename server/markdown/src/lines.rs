//! Lines and their endings, in CommonMark's sense: `\n`, `\r\n`, or a `\r` on its own.

use std::borrow::Cow;

use memchr::memchr_iter;

/// U+FEFF at the start of a file: not part of its text, never moved.
pub(super) const BOM: char = '\u{feff}';

/// Returns the text with each lone `\r` replaced by `
/// `: positions stay, and both pulldown-cmark (which does not know a lone `\r`) and a search for `
/// ` find all line endings.
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

/// Returns the start of the line at `position`. `masked` has no lone `\r`.
pub(super) fn line_start(masked: &str, position: usize) -> usize {
    masked[..position].rfind('\n').map_or(0, |newline| newline + 1)
}

/// Returns the end of the line before `position`, including its ending: `position` itself at the start of a line. `masked`
/// has no lone `\r`.
pub(super) fn line_end(masked: &str, position: usize) -> usize {
    if masked[..position].ends_with('\n') {
        return position;
    }
    masked[position..]
        .find('\n')
        .map_or(masked.len(), |newline| position + newline + 1)
}

/// Returns the most frequent line ending of the text; on a tie `
/// ` before `\r
/// ` before `\r`, and `
/// ` if there is none.
pub(super) fn ending_of(text: &str) -> &'static str {
    let (crlf, lf, cr) = endings(text);
    if lf >= crlf && lf >= cr {
        "\n"
    } else if crlf >= cr {
        "\r\n"
    } else {
        "\r"
    }
}

/// Returns the numbers of lines that end with `\r
/// `, with `
/// ` alone, and with `\r` alone.
pub(super) fn endings(text: &str) -> (usize, usize, usize) {
    let bytes = text.as_bytes();
    let crlf = memchr_iter(b'\r', bytes)
        .filter(|at| bytes.get(at + 1) == Some(&b'\n'))
        .count();
    let count = |byte| memchr_iter(byte, bytes).count() - crlf;
    (crlf, count(b'\n'), count(b'\r'))
}

/// Returns true if concatenating `left` and `right` would join two lines, or turn the two line endings `\r` and `
/// ` into one.
pub(super) fn glue(left: &str, right: &str) -> bool {
    if left.is_empty() || right.is_empty() || left.ends_with('\n') {
        return false;
    }
    !left.ends_with('\r') || right.starts_with('\n')
}

/// Returns a text's trimmed lines joined by blanks: the form in which headings are compared.
pub(super) fn squash(text: &str) -> String {
    let lines: Vec<&str> = text
        .trim()
        .split(['\n', '\r'])
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    lines.join(" ")
}
