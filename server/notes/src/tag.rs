//! Tags as in Obsidian: in front matter and in the text, case-insensitive, nested by `/`.

use tabellion_markdown::{Flavor, code_ranges, link_targets};
use unicode_normalization::UnicodeNormalization as _;

/// Returns the search keys of a tag and of the tags above it.
pub(crate) fn keys(tag: &str) -> Vec<String> {
    let whole = key(tag);
    let above = whole.match_indices('/').map(|(end, _)| end);
    let ends = above.filter(|end| *end > 0).chain([whole.len()]);
    ends.map(|end| whole[..end].to_owned()).collect()
}

/// Returns the search key of a tag, with or without `#`: the same in any case.
pub(crate) fn key(tag: &str) -> String {
    let tag = tag.trim().trim_start_matches('#').trim_end_matches('/');
    tag.nfc().collect::<String>().to_lowercase()
}

/// Returns true if a text names a tag: there is more to it than blanks, `#` and a `/` at its end.
pub fn is_tag(text: &str) -> bool {
    !key(text).is_empty()
}

/// Returns the tags in a Markdown text, in their order: `#` at the beginning of a word, and a name that is not just a number. Code, HTML and
/// targets of links are skipped.
pub(crate) fn in_text(text: &str, flavor: Flavor) -> Vec<String> {
    let mut tags: Vec<String> = vec![];
    let mut masked = text.as_bytes().to_vec();
    let targets = link_targets(text, flavor).into_iter().map(|target| target.range);
    for range in code_ranges(text, flavor).into_iter().chain(targets) {
        masked[range].iter_mut().filter(|byte| !byte.is_ascii_whitespace()).for_each(|byte| *byte = b'x');
    }
    let masked = String::from_utf8_lossy(&masked);
    for word in masked.split_whitespace().filter_map(|word| word.strip_prefix('#')) {
        let end = word.find(|c| !is_of_tag(c)).unwrap_or(word.len());
        let name = word[..end].trim_matches('/');
        let is_tag = name.chars().any(|c| !c.is_numeric() && c != '/');
        if is_tag && !tags.iter().any(|known| key(known) == key(name)) {
            tags.push(name.to_owned());
        }
    }
    tags
}

/// Returns true for a character of a tag: a letter, digit, mark or emoji, `_`, `-` and `/`. Punctuation ends a tag.
fn is_of_tag(c: char) -> bool {
    // Signs of Latin-1, general, supplemental and CJK punctuation, and full-width forms. U+200C and U+200D join emoji and some scripts.
    let is_punctuation = matches!(c,
        '\u{a0}'..='\u{bf}' | '\u{d7}' | '\u{f7}' | '\u{2000}'..='\u{200b}' | '\u{200e}'..='\u{206f}' | '\u{2e00}'..='\u{2e7f}'
        | '\u{3000}'..='\u{303f}' | '\u{fe10}'..='\u{fe1f}' | '\u{fe30}'..='\u{fe6f}' | '\u{feff}' | '\u{ff00}'..='\u{ffef}'
        | '\u{fffd}');
    let is_sign = !c.is_ascii() && !c.is_control() && !c.is_whitespace() && !is_punctuation;
    c.is_alphanumeric() || matches!(c, '_' | '-' | '/') || is_sign
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_in_a_text_are_words_with_a_mark_outside_of_code() {
        for (text, tags) in [
            (
                "#work and #Work/Urgent, (no#tag) #1984 #y1984 #a_b-c.",
                &["work", "Work/Urgent", "y1984", "a_b-c"][..],
            ),
            ("# Heading\n## Another\n#tag\n", &["tag"]),
            (
                "`#code` and #text\n```\n#fenced\n```\n~~~\n#wave\n```\n#still\n~~~\n#after",
                &["text", "after"],
            ),
            ("    #indented\n\t#tab\n- #item\n> #quoted", &["item", "quoted"]),
            (
                "- a #top\n\t- b #tabbed\n\n\t    - c #spaced\n\n\t  more #continued\n",
                &["top", "tabbed", "spaced", "continued"],
            ),
            ("````\n```\n#fenced\n```\n````\n`a\n#span` #after", &["after"]),
            ("<!-- #hidden -->\n\n[[a #part]] [b]( #c ) `x`#no *#yes*", &[]),
            ("https://a.example/#part #über/größe #/a/ ##b #", &["über/größe", "a"]),
            ("#a #a #A", &["a"]),
            (
                "#emoji🎉 #👩‍🚀, #हिन्दी #U\u{308}ber “#x” «#y» #z。",
                &["emoji🎉", "👩‍🚀", "हिन्दी", "U\u{308}ber", "z"],
            ),
        ] {
            assert_eq!(in_text(text, Flavor::CommonMark), tags, "{text:?}");
        }
    }

    #[test]
    fn a_nested_tag_is_found_by_those_that_it_is_in() {
        for (tag, found) in [
            ("work", &["work"][..]),
            ("Work/Urgent/Now", &["work", "work/urgent", "work/urgent/now"]),
            ("#Z", &["z"]),
            ("work/", &["work"]),
            ("/a", &["/a"]),
        ] {
            assert_eq!(keys(tag), found, "{tag}");
        }
        assert_eq!(key("#U\u{308}ber"), key("über"));
    }
}
