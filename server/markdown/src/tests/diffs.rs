//! Diffs: their form, and that `git apply` accepts them.

use proptest::prelude::*;

use super::super::diff::{Comparison, line_counts, sections, unified, unified_bytes, unified_sides, words};
use super::git;

#[track_caller]
fn applies(path: &str, old: &str, new: &str) {
    if let Some(applied) = git::apply(path, old, &unified(path, old, new)) {
        assert_eq!(applied, new, "{path:?}: {old:?} to {new:?}");
    }
}

#[test]
fn a_diff_has_gits_form() {
    let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
    let new = "1\n2\n3\n4\nfive\n6\n7\n8\n9\nten";
    let diff = "--- a/n.md\n+++ b/n.md\n@@ -2,8 +2,9 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n 9\n+ten\n\
        \\ No newline at end of file\n";
    assert_eq!(unified("n.md", old, new), diff);
    assert_eq!(line_counts(old, new), (2, 1));
    assert_eq!(unified("n.md", "", "a\n"), "--- a/n.md\n+++ b/n.md\n@@ -0,0 +1 @@\n+a\n");
    assert_eq!(unified("n.md", old, old), "");
    for (old, new, expected) in [
        (None, Some("a\n"), "--- /dev/null\n+++ b/n.md\n@@ -0,0 +1 @@\n+a\n"),
        (Some("a\n"), None, "--- a/n.md\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"),
        (Some(""), None, ""),
        (None, Some(""), ""),
    ] {
        assert_eq!(unified_sides("n.md", old, new), expected);
    }
    assert_eq!(line_counts(old, old), (0, 0));
    let not_text = unified_bytes("n.md", Some(b"a\xff\n"), Some("\u{e4}\n".as_bytes()));
    assert_eq!(not_text, b"--- a/n.md\n+++ b/n.md\n@@ -1 +1 @@\n-a\xff\n+\xc3\xa4\n");
}

#[test]
fn git_applies_every_kind_of_line() {
    for (old, new) in [
        ("", "a\n"),
        ("", "a"),
        ("a\n", ""),
        ("a", ""),
        ("a", "a\n"),
        ("a\n", "a"),
        ("a", "b"),
        ("a\r\nb\r\n", "a\r\nc\r\nb\r\n"),
        ("a\r\nb\r\n", "a\nb\n"),
        ("a\rb\r", "a\rc\rb\r"),
        ("a\rb", "a\nb"),
        ("\u{feff}a\n", "\u{feff}b\na\n"),
        ("\u{feff}a\n", "a\n"),
        ("a  \n\t\n", "a\n\n"),
        ("a\0b\n", "a\0c\n"),
        ("a\u{2028}b\u{85}c\n", "a\u{2028}b\u{85}d\n"),
        ("-- \n--- a/x\n+++ b/x\n@@ -1 +1 @@\n", "-- \n+++ b/x\n@@ -1 +1 @@\n--- a/x\n"),
        ("\\ No newline at end of file\n", "\\ No newline at end of file"),
        ("\n\n\n\n\n", "\n\n\n"),
    ] {
        applies("a.md", old, new);
    }
}

#[test]
fn git_reads_every_file_name() {
    for path in [
        "a b.md",
        " a.md",
        "a.md ",
        "ä/日本 🎉.md",
        "a\"b\\c.md",
        "tab\tline\nreturn\r.md",
        "\u{1}\u{7f}\u{202e}.md",
        "a/b/a/b.md",
        "-a.md",
        "a\u{7}\u{8}\u{b}\u{c}.md",
    ] {
        applies(path, "old\n", "new\n");
        applies(path, "", "new");
        applies(path, "old", "");
    }
    assert_eq!(unified("a ä.md", "", "x").lines().next(), Some("--- \"a/a \\303\\244.md\"\t"));
}

#[test]
fn distant_changes_have_separate_hunks() {
    let old: String = (0..100).map(|n| format!("{n}\n")).collect();
    let new = old.replace("\n20\n", "\ntwenty\n").replace("\n70\n", "\n");
    assert_eq!(unified("n.md", &old, &new).matches("@@ -").count(), 2);
    applies("n.md", &old, &new);
}

#[test]
fn a_diff_of_too_many_lines_replaces_them_all() {
    let old: String = (0..9_000).map(|n| format!("{n}\n")).collect();
    let new: String = (0..9_000).rev().map(|n| format!("{n}\n")).collect();
    let (old, new) = (format!("same\n{old}same\n"), format!("same\n{new}same\n"));
    assert_eq!(line_counts(&old, &new), (9_000, 9_000));
    applies("n.md", &old, &new);
}

/// Lines that are often equal, with every kind of ending.
fn text() -> impl Strategy<Value = String> {
    let line = prop::sample::select(vec!["a\n", "b\n", "b\r\n", "\n", "# h\n", "c", "\u{feff}", "---\n"]);
    prop::collection::vec(line, 0..12).prop_map(|lines| lines.concat())
}

proptest! {
    #[test]
    fn parts_are_taken_or_left_byte_for_byte(old in text(), new in text(), choice in any::<u16>()) {
        let compared = Comparison::between(&old, &new);
        prop_assert_eq!(compared.take(|_| true), new.clone());
        prop_assert_eq!(compared.take(|_| false), old.clone());
        let parts = compared.parts();
        for pair in parts.windows(2) {
            prop_assert!(pair[0].old.end < pair[1].old.start && pair[0].new.end < pair[1].new.start);
        }
        let is_taken = |index: usize| choice >> (index % 16) & 1 == 1;
        let taken = compared.take(is_taken);
        prop_assert_eq!(Comparison::between(&taken, &new).take(|_| true), new);
    }

    #[test]
    fn changed_words_are_the_whole_difference(old in "[ab é🎉,.]{0,30}", new in "[ab é🎉,.]{0,30}") {
        let (old_words, new_words) = words(&old, &new);
        let without = |line: &str, words: &[std::ops::Range<usize>]| {
            let mut rest = line.to_owned();
            words.iter().rev().for_each(|word| rest.replace_range(word.clone(), ""));
            rest
        };
        if !old_words.is_empty() || !new_words.is_empty() {
            prop_assert_eq!(without(&old, &old_words), without(&new, &new_words));
        }
    }

    #[test]
    fn sections_are_the_whole_text(text in text()) {
        let lines: Vec<_> = text.split_inclusive('\n').collect();
        let all: Vec<_> = sections(&text).into_iter().flatten().collect();
        prop_assert_eq!(all, (0..lines.len()).collect::<Vec<_>>());
    }
}

#[test]
fn changed_words_are_marked() {
    for (old, new, expected) in [
        (
            "The database is dumped every night at 02:00 and kept for a week.",
            "The database is dumped every hour, on the hour, and kept for 35 days.",
            (&["night at 02:00", "a week"][..], &["hour, on the hour,", "35 days"][..]),
        ),
        ("one two three", "four five six", (&[], &[])),
        ("a word", "a word", (&[], &[])),
        ("same line here", "same line there", (&["here"], &["there"])),
        ("", "new", (&[], &[])),
    ] {
        let (old_words, new_words) = words(old, new);
        let texts = |line: &str, words: Vec<std::ops::Range<usize>>| -> Vec<String> {
            words.into_iter().map(|word| line[word].to_owned()).collect()
        };
        assert_eq!(
            (texts(old, old_words), texts(new, new_words)),
            (
                expected.0.iter().map(|it| (*it).into()).collect(),
                expected.1.iter().map(|it| (*it).into()).collect()
            ),
            "{old}"
        );
    }
}

#[test]
fn a_new_text_has_its_sections_as_parts() {
    let text = "---\na: 1\n---\n# One\n\ntext\n\n## Two\n\n```\n# no heading\n```\nend";
    assert_eq!(sections(text), [0..3, 3..7, 7..13]);
    assert_eq!(sections("text\n# One\n"), [0..1, 1..2]);
    assert_eq!(sections(""), []);
}
