//! Classes of characters: those that belong to a word, end it, or are written without blanks.

use unicode_normalization::char::is_combining_mark;

/// Effect of a character on a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// A letter or digit of a script that puts blanks between words.
    Letter,
    /// A letter of a script without blanks.
    Unspaced,
    /// A mark that belongs to the character before it.
    Mark,
    /// `_` and `-`, which join the parts of identifiers.
    Joiner,
    Apostrophe,
    /// A pictograph, which is a separate word.
    Symbol,
    /// Everything else: blanks, punctuation, control characters.
    Separator,
}

pub(super) fn class(char: char) -> Class {
    match char {
        'a'..='z' | 'A'..='Z' | '0'..='9' => Class::Letter,
        '_' | '-' | '\u{2010}' | '\u{2011}' => Class::Joiner,
        '\'' | '\u{2019}' => Class::Apostrophe,
        '\0'..='\x7f' => Class::Separator,
        _ if is_pictograph(char) => Class::Symbol,
        _ if is_combining_mark(char) => Class::Mark,
        _ if is_unspaced(char) => Class::Unspaced,
        _ if char.is_alphanumeric() => Class::Letter,
        _ => Class::Separator,
    }
}

/// Han, kana, Hangul, and the scripts of South-East Asia. Korean has blanks, but its endings are written to the word.
fn is_unspaced(char: char) -> bool {
    let is_in = matches!(u32::from(char),
        0x0E01..=0x0EDF     // Thai, Lao
        | 0x0F40..=0x0FBC   // Tibetan
        | 0x1000..=0x109F   // Myanmar
        | 0x1100..=0x11FF   // Hangul Jamo
        | 0x1780..=0x17D3   // Khmer
        | 0x3005..=0x3007 | 0x3041..=0x30FF | 0x3105..=0x318E | 0x31A0..=0x31BF | 0x31F0..=0x31FF
        | 0xA960..=0xA97C | 0xA9E0..=0xA9FE | 0xAA60..=0xAA7F
        | 0xAC00..=0xD7FB   // Hangul
        | 0x1B000..=0x1B16F // more kana
    );
    (is_in && char.is_alphanumeric() && !char.is_numeric()) || is_ideograph(char)
}

/// Returns true for a Han character, which is often a whole word.
pub(super) fn is_ideograph(char: char) -> bool {
    matches!(u32::from(char), 0x3005..=0x3007 | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0x20000..=0x3FFFD)
}

fn is_pictograph(char: char) -> bool {
    matches!(u32::from(char), 0x2600..=0x27BF | 0x2B00..=0x2BFF | 0x1F000..=0x1F3FA | 0x1F400..=0x1FAFF)
}
