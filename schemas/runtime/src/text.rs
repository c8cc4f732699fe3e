//! Names as people see them: characters that hide text from readers, and spellings that look the same.

use std::borrow::Cow;

use serde_json::Value;
use unicode_normalization::{IsNormalized, UnicodeNormalization, char::is_combining_mark, is_nfc_quick};

/// Returns true if `c` is invisible or reorders the text around it: Unicode's `Default_Ignorable_Code_Point`s, which include all that HFS+
/// ignores in file names, and the interlinear annotation marks.
pub fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Returns true if `text` has a letter or digit that readers see. The fillers of Hangul are letters without a form.
pub fn is_legible(text: &str) -> bool {
    text.chars().any(|c| c.is_alphanumeric() && !is_invisible(c) && !is_combining_mark(c))
}

/// Returns `value` as JSON on one line, for a terminal: control characters, and those that are invisible or reorder text, are escaped.
pub fn visible_json(value: &Value) -> String {
    let mut line = String::new();
    for c in value.to_string().chars() {
        if c.is_control() || is_invisible(c) {
            // Outside of strings, JSON has none of these.
            let mut units = [0; 2];
            let escaped = c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}"));
            line.extend(escaped);
        } else {
            line.push(c);
        }
    }
    line
}

/// Returns the reading of a name: letters and digits alone, without case and compatibility forms. `Reviewed-By ` reads like `reviewed_by`.
pub fn reading(name: &str) -> String {
    let plain: String = name.nfkc().filter(|c| c.is_alphanumeric()).collect();
    folded(&plain)
}

/// Returns `name` in Unicode's composed form (NFC). Names with the same composed form look the same.
pub fn composed(name: &str) -> Cow<'_, str> {
    if is_nfc_quick(name.chars()) == IsNormalized::Yes {
        return Cow::Borrowed(name);
    }
    Cow::Owned(name.nfc().collect())
}

/// Returns the form in which names are compared ignoring case and composition: Unicode's full case folding of the decomposed name without
/// ignorable characters, as APFS and ext4 do it. It is coarser than NTFS's, so it misses no match there.
pub fn folded(name: &str) -> String {
    if name.is_ascii() {
        return name.to_ascii_lowercase();
    }
    // Three steps: `ẞ`, `ß` and `SS` become equal only after all of them.
    name.nfd()
        .filter(|c| !is_invisible(*c))
        .flat_map(char::to_lowercase)
        .flat_map(char::to_uppercase)
        .flat_map(char::to_lowercase)
        .nfd()
        .collect()
}
