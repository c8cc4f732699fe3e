//! Text from a caller or a file, escaped and shortened for one line of a message.

use unicode_general_category::{GeneralCategory, get_general_category};

/// The length after which a text is cut.
const MAX_CHARS: usize = 120;

/// Returns the text on one line, cut after 120 characters with `…`. Line endings and other controls, bidi overrides,
/// zero-width and other invisible characters are escaped (`\n`, `\u{202e}`).
pub fn one_line(text: &str) -> String {
    let mut shown = String::new();
    for (index, c) in text.chars().enumerate() {
        if index == MAX_CHARS {
            shown.push('…');
            break;
        }
        match c {
            '\t' | '\n' | '\r' => shown.extend(c.escape_default()),
            _ if is_invisible(c) => shown.extend(c.escape_unicode()),
            _ => shown.push(c),
        }
    }
    shown
}

/// Returns true if a character has no glyph or reorders others: controls, formats (which include all bidi and
/// zero-width characters), line separators, private and unassigned characters, and the Hangul fillers.
fn is_invisible(c: char) -> bool {
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
