//! Diffs: their form, and that `git apply` accepts them.

use super::super::diff::{line_counts, unified, unified_sides};
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
    assert_eq!(
        unified("n.md", "", "a\n"),
        "--- a/n.md\n+++ b/n.md\n@@ -0,0 +1 @@\n+a\n"
    );
    assert_eq!(unified("n.md", old, old), "");
    for (old, new, expected) in [
        (
            None,
            Some("a\n"),
            "--- /dev/null\n+++ b/n.md\n@@ -0,0 +1 @@\n+a\n",
        ),
        (
            Some("a\n"),
            None,
            "--- a/n.md\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n",
        ),
        (Some(""), None, ""),
        (None, Some(""), ""),
    ] {
        assert_eq!(unified_sides("n.md", old, new), expected);
    }
    assert_eq!(line_counts(old, old), (0, 0));
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
        (
            "-- \n--- a/x\n+++ b/x\n@@ -1 +1 @@\n",
            "-- \n+++ b/x\n@@ -1 +1 @@\n--- a/x\n",
        ),
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
    assert_eq!(
        unified("a ä.md", "", "x").lines().next(),
        Some("--- \"a/a \\303\\244.md\"\t")
    );
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
