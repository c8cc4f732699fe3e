//! Makes every character of a text visible, so that hostile or broken text cannot affect a terminal or a page.

use std::borrow::Cow;

/// A part of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Unchanged text.
    Text(&'a str),
    /// An escape for an invisible character.
    Mark(Cow<'a, str>),
}

impl Piece<'_> {
    /// Returns the text to show.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Mark(mark) => mark,
        }
    }
}

/// Splits a line of a document, without its newline, into pieces. Control characters, zero-width marks and
/// bidirectional controls become escapes, trailing blanks become dots.
pub fn pieces(line: &str) -> Vec<Piece<'_>> {
    let blank = |it: char| matches!(it, ' ' | '\t' | '\r');
    let end = line.trim_end_matches(blank).len();
    let mut pieces = Vec::new();
    let mut plain = 0;
    for (at, it) in line.char_indices() {
        let mark: Cow<'_, str> = match it {
            ' ' if at >= end => "·".into(),
            '\t' if at < end => continue,
            _ if is_invisible(it) => it.escape_default().to_string().into(),
            _ => continue,
        };
        if plain < at {
            pieces.push(Piece::Text(&line[plain..at]));
        }
        match pieces.last_mut() {
            Some(Piece::Mark(before)) if it == ' ' && plain == at && before.ends_with('·') => {
                before.to_mut().push('·')
            }
            _ => pieces.push(Piece::Mark(mark)),
        }
        plain = at + it.len_utf8();
    }
    if plain < line.len() {
        pieces.push(Piece::Text(&line[plain..]));
    }
    pieces
}

/// Returns `text` with escapes for invisible characters except newlines and tabs.
pub fn lines(text: &str) -> Cow<'_, str> {
    shown(text, |it| matches!(it, '\n' | '\t'))
}

/// Returns `text` as one line, with escapes for invisible characters.
pub fn line(text: &str) -> Cow<'_, str> {
    shown(text, |_| false)
}

/// Returns `text` as one line, cut to `most` characters.
pub fn cut(text: &str, most: usize) -> String {
    let line = line(text);
    match line.char_indices().nth(most.saturating_sub(1)) {
        Some((at, it)) if at + it.len_utf8() < line.len() => format!("{}…", &line[..at]),
        _ => line.into_owned(),
    }
}

fn shown(text: &str, keep: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.chars().any(|it| is_invisible(it) && !keep(it)) {
        return text.into();
    }
    let mut all = String::with_capacity(text.len() + 16);
    for it in text.chars() {
        if is_invisible(it) && !keep(it) {
            all.extend(it.escape_default());
        } else {
            all.push(it);
        }
    }
    all.into()
}

/// Returns true if a character is invisible or changes how others look.
fn is_invisible(it: char) -> bool {
    it.is_control()
        || matches!(
            it,
            '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{fffe}'
                | '\u{ffff}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(line: &str) -> String {
        pieces(line).iter().map(Piece::as_str).collect()
    }

    #[test]
    fn invisible_characters_become_visible() {
        for (line, shown) in [
            ("", ""),
            ("# Plan", "# Plan"),
            ("a \t \r", "a·\\t·\\r"),
            ("\u{feff}a\tb", "\\u{feff}a\tb"),
            ("\u{1b}[2Ja\u{202e}b", "\\u{1b}[2Ja\\u{202e}b"),
            ("   ", "···"),
        ] {
            assert_eq!(seen(line), shown);
        }
        assert_eq!(lines("a\r\nb\u{7}"), "a\\r\nb\\u{7}");
        assert_eq!(line("a\nb"), "a\\nb");
    }

    #[test]
    fn a_long_line_ends_with_dots() {
        assert_eq!(cut("äöü", 3), "äöü");
        assert_eq!(cut("äöüß", 3), "äö…");
    }
}
