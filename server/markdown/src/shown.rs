//! Text from a caller or a file, escaped for display on one line.

use unicode_general_category::{GeneralCategory, get_general_category};

/// Upper bound of the characters shown.
const MAX_CHARACTERS: usize = 120;

/// Returns the text on one line: control characters, bidi overrides, zero-width and other invisible characters are escaped (`
/// `, `\u{202e}`), and everything after 120 characters becomes `…`.
pub(super) fn one_line(text: &str) -> String {
    let mut shown = String::new();
    for (index, c) in text.chars().enumerate() {
        if index == MAX_CHARACTERS {
            shown.push('…');
            break;
        }
        match c {
            '\t' | '\n' | '\r' => shown.extend(c.escape_default()),
            _ if invisible(c) => shown.extend(c.escape_unicode()),
            _ => shown.push(c),
        }
    }
    shown
}

/// Returns true if a character is invisible or moves others: controls, formats (including all bidi and zero-width
/// characters), line separators, private and unassigned characters, and the blank letters of Hangul.
fn invisible(c: char) -> bool {
    matches!(c, '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}')
        || matches!(
            get_general_category(c),
            GeneralCategory::Control
                | GeneralCategory::Format
                | GeneralCategory::LineSeparator
                | GeneralCategory::ParagraphSeparator
                | GeneralCategory::PrivateUse
                | GeneralCategory::Unassigned
        )
}
