//! Slugs, compared with github-slugger's rule. Each case is a document's headings with their slugs.

use super::super::slug::Slugger;

#[track_caller]
fn check(cases: &[(&str, &str)]) {
    let mut slugger = Slugger::default();
    for (heading, slug) in cases {
        assert_eq!(slugger.slug(heading), *slug, "slug of {heading:?}");
    }
}

#[test]
fn a_slug_keeps_letters_marks_digits_connectors_hyphens_and_spaces() {
    check(&[
        ("Scope", "scope"),
        ("What's new in 2.0?", "whats-new-in-20"),
        ("  leading and trailing  ", "--leading-and-trailing--"),
        ("two  blanks", "two--blanks"),
        ("a-hyphen - kept", "a-hyphen---kept"),
        ("snake_case‿tie", "snake_case‿tie"),
        ("tab\there", "tabhere"),
        ("C++ & Rust", "c--rust"),
        ("C# 12", "c-12"),
        ("no\u{a0}break", "nobreak"),
        ("İstanbul ΟΔΟΣ", "i̇stanbul-οδος"),
        ("Straße", "straße"),
        ("I ♥ unicode", "i--unicode"),
        ("emoji 🎉 party", "emoji--party"),
        ("日本語の見出し", "日本語の見出し"),
        ("全角、句読点。", "全角句読点"),
        ("Привет, мир", "привет-мир"),
        ("हिन्दी", "हिन्दी"),
        ("e\u{301}tude", "e\u{301}tude"),
        ("½ and ² and ٣", "-and--and-٣"),
        ("ⓐ circled, Ⅳ roman", "ⓐ-circled-ⅳ-roman"),
        ("—dash–es", "dashes"),
        ("", ""),
    ]);
}

#[test]
fn duplicate_slugs_get_the_first_free_number() {
    check(&[("a", "a"), ("a", "a-1"), ("a", "a-2")]);
    check(&[("a-1", "a-1"), ("a", "a"), ("a", "a-2"), ("a-1", "a-1-1")]);
    check(&[("a", "a"), ("a", "a-1"), ("a-1", "a-1-1"), ("a-1", "a-1-2"), ("a", "a-2")]);
    check(&[("!", ""), ("?", "-1"), ("-1", "-1-1")]);
    check(&[("constructor", "constructor"), ("__proto__", "__proto__"), ("Constructor", "constructor-1")]);
}
