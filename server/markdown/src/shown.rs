//! Text from a caller or a file, made fit to stand in one line that a person reads.

use unicode_general_category::{GeneralCategory, get_general_category};

/// The characters after which a shown text is cut.
const LONGEST: usize = 120;

/// Returns the text on one line: line ends and other controls, bidi overrides, zero-width and other invisible
/// characters as escapes (`\n`, `\u{202e}`), and everything after 120 characters as `…`.
pub(super) fn one_line(text: &str) -> String {
    let mut shown = String::new();
    for (index, c) in text.chars().enumerate() {
        if index == LONGEST {
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

/// Whether a character leaves no mark of its own, or moves others: controls, formats (among them every bidi and
/// zero-width character), separators of lines, private and unassigned ones, and the blank letters of Hangul.
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
