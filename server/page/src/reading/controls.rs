//! Invisible characters, and characters that reorder others, as boxes with their code point.

use std::ops::Range;

use maud::{Markup, html};

/// Returns the name of a character that is shown as a box; `None` for every other.
pub fn name(sign: char) -> Option<&'static str> {
    Some(match sign {
        '\t' | '\n' => return None,
        '\r' => "carriage return",
        '\u{1b}' => "escape",
        '\u{0}' => "NUL",
        '\u{ad}' => "soft hyphen",
        '\u{61c}' | '\u{200e}' | '\u{200f}' => "mark of direction",
        '\u{200b}' | '\u{2060}' | '\u{180e}' => "space without width",
        '\u{200c}' | '\u{200d}' => "joiner without width",
        '\u{202a}' | '\u{202b}' | '\u{2066}'..='\u{2068}' => "change of direction",
        '\u{202c}' | '\u{2069}' => "end of a change of direction",
        '\u{202d}' => "left-to-right override",
        '\u{202e}' => "right-to-left override",
        '\u{2028}' | '\u{2029}' => "separator of lines",
        '\u{2061}'..='\u{2064}' | '\u{206a}'..='\u{206f}' | '\u{fff9}'..='\u{fffb}' => "invisible sign",
        '\u{feff}' => "byte order mark",
        '\u{e0000}'..='\u{e007f}' => "tag",
        sign if sign.is_control() => "control character",
        _ => return None,
    })
}

/// Returns true if a character is shown as a box.
pub fn is_control(sign: char) -> bool {
    name(sign).is_some()
}

/// Returns a text with boxes for invisible characters. A joiner between emoji is kept, since it joins them into one.
pub fn visible(text: &str) -> Markup {
    let (mut pieces, mut begun, mut before) = (vec![], 0, ' ');
    for (place, sign) in text.char_indices() {
        let joins_emoji = sign == '\u{200d}' && !before.is_alphanumeric() && !before.is_ascii();
        if let Some(name) = name(sign).filter(|_| !joins_emoji) {
            pieces.push((&text[begun..place], Some((sign, name))));
            begun = place + sign.len_utf8();
        }
        before = sign;
    }
    pieces.push((&text[begun..], None));
    html! { @for (plain, boxed) in pieces {
        (plain)
        @if let Some((sign, name)) = boxed { span.ctl title=(name) { (format!("U+{:04X}", u32::from(sign))) } }
    } }
}

/// Returns a text with boxes for invisible characters, and these ranges marked.
pub fn marked(text: &str, marks: &[Range<usize>]) -> Markup {
    let mut at = 0;
    let pieces = marks.iter().map(|mark| {
        let piece = (&text[at..mark.start], &text[mark.clone()]);
        at = mark.end;
        piece
    });
    let pieces: Vec<_> = pieces.collect();
    html! { @for (plain, marked) in pieces { (visible(plain)) mark { (visible(marked)) } } (visible(&text[at..])) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_that_are_not_seen_are_boxes() {
        for (text, expected) in [
            ("a\tb\n", "a\tb\n"),
            ("<b>&\"", "&lt;b&gt;&amp;&quot;"),
            ("a\u{202e}b", "a<span class=\"ctl\" title=\"right-to-left override\">U+202E</span>b"),
            ("\u{1b}[2J", "<span class=\"ctl\" title=\"escape\">U+001B</span>[2J"),
            ("\u{e0041}", "<span class=\"ctl\" title=\"tag\">U+E0041</span>"),
            ("👩\u{200d}💻", "👩\u{200d}💻"),
            ("a\u{200d}b", "a<span class=\"ctl\" title=\"joiner without width\">U+200D</span>b"),
            ("\u{85}", "<span class=\"ctl\" title=\"control character\">U+0085</span>"),
        ] {
            assert_eq!(visible(text).0, expected, "{text:?}");
        }
    }
}
