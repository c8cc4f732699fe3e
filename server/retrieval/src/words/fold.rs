//! Folding: spellings that readers take for the same become the same.

use std::borrow::Cow;

use unicode_normalization::{UnicodeNormalization as _, char::canonical_combining_class};

/// Replaces compatibility forms by plain ones and drops diacritics; case stays, because identifiers are cut by it.
///
/// Marks that spell a sound stay, such as those of Indic scripts and kana: dropping them makes other words. Dropped marks
/// have the combining class of Hebrew and Arabic points (10 to 36) or of marks above and below (200 to 240).
pub(super) fn normalize(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let kept = text.nfkd().filter(|char| {
        let is_diacritic = matches!(canonical_combining_class(*char), 10..=36 | 200..=240);
        !is_diacritic && !is_invisible(*char)
    });
    Cow::Owned(kept.nfc().collect())
}

/// Characters that change the look of a text, not its words: joiners, soft hyphens, the Arabic tatweel, variation selectors.
fn is_invisible(char: char) -> bool {
    matches!(
        char,
        '\u{AD}'
            | '\u{640}'
            | '\u{200B}'..='\u{200F}'
            | '\u{202A}'..='\u{202E}'
            | '\u{2060}'..='\u{2064}'
            | '\u{FE00}'..='\u{FE0F}'
            | '\u{FEFF}'
            | '\u{1F3FB}'..='\u{1F3FF}'
    )
}

/// Folds case, and Latin letters that Unicode does not decompose.
pub(super) fn fold_case(word: &str) -> String {
    if word.is_ascii() {
        return word.to_ascii_lowercase();
    }
    let mut folded = String::with_capacity(word.len());
    for char in word.chars().flat_map(char::to_lowercase) {
        match char {
            'ß' => folded.push_str("ss"),
            'æ' => folded.push_str("ae"),
            'œ' => folded.push_str("oe"),
            'þ' => folded.push_str("th"),
            'ø' => folded.push('o'),
            'đ' | 'ð' => folded.push('d'),
            'ħ' => folded.push('h'),
            'ł' => folded.push('l'),
            'ŧ' => folded.push('t'),
            'ı' => folded.push('i'),
            'ς' => folded.push('σ'),
            // Left by the lower case of `İ`.
            '\u{307}' => {}
            other => folded.push(other),
        }
    }
    folded
}
