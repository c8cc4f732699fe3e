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

/// Returns true if nothing of `text` is seen: it has only blanks, controls, invisible characters, and signs with an empty form.
pub fn is_blank(text: &str) -> bool {
    let is_empty = |c| matches!(c, '\u{2800}' | '\u{13441}'..='\u{13442}');
    text.chars().all(|c| c.is_whitespace() || c.is_control() || is_invisible(c) || is_empty(c))
}

/// Returns true if `text` has a letter or digit that readers see. The fillers of Hangul are letters without a form.
pub fn is_legible(text: &str) -> bool {
    text.chars().any(|c| c.is_alphanumeric() && !is_invisible(c) && !is_combining_mark(c))
}

/// Returns the text with control characters, but for line feeds and tabs, and those that are invisible or reorder text, as `\u{1b}`. Joiners
/// and selectors of emoji are kept.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let (mut rest, mut before) = (text.chars().peekable(), ' ');
    while let Some(c) = rest.next() {
        let is_of_emoji =
            matches!(c, '\u{200d}' | '\u{fe0f}') && !before.is_ascii() && !before.is_alphanumeric();
        match c {
            '\n' | '\t' => shown.push(c),
            // The usual end of a line on Windows.
            '\r' if rest.peek() == Some(&'\n') => {}
            c if c.is_control() || is_invisible(c) && !is_of_emoji => shown.extend(c.escape_unicode()),
            c => shown.push(c),
        }
        before = c;
    }
    shown
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_visible() {
        for (text, expected) in [
            ("plain\ttext\n", "plain\ttext\n"),
            ("a\r\nb", "a\nb"),
            ("\u{1b}[2J", "\\u{1b}[2J"),
            ("a\rb", "a\\u{d}b"),
            ("Grüße 👋", "Grüße 👋"),
            ("👩\u{200d}👧 ❤\u{fe0f}", "👩\u{200d}👧 ❤\u{fe0f}"),
            ("a\u{200d}b\u{202e}c", "a\\u{200d}b\\u{202e}c"),
        ] {
            assert_eq!(visible(text), expected);
        }
    }

    #[test]
    fn json_is_visible_too_and_means_the_same() {
        for text in ["Grüße 👋", "\u{1b}[2J", "a\u{9b}2Jb\u{7f}", "\u{202e}txt.exe", "\u{e0041}\u{feff}"]
        {
            let value = serde_json::json!({ text: text });
            let line = visible_json(&value);
            assert_eq!(visible(&line), line);
            assert_eq!(serde_json::from_str::<Value>(&line).unwrap(), value);
        }
    }
}
