//! Merges, compared with those of `git merge-file`.

use std::{fs, process::Command};

use crate::{MergeConflict, merge};

/// Returns what `git merge-file` makes of the three texts, and whether it merges them.
fn by_git(texts: [&str; 3]) -> (String, bool) {
    let folder = tempfile::tempdir().unwrap();
    let [base, ours, theirs] = ["base", "ours", "theirs"].map(|name| folder.path().join(name));
    for (file, text) in [&base, &ours, &theirs].into_iter().zip(texts) {
        fs::write(file, text).unwrap();
    }
    let mut git = Command::new("git");
    git.args(["merge-file", "-p", "-q"]).args([&ours, &base, &theirs]);
    let output = git.output().unwrap();
    (String::from_utf8(output.stdout).unwrap(), output.status.success())
}

#[test]
fn changes_merge_as_in_git() {
    let base = "a\nb\nc\nd\ne\nf\n";
    for (ours, theirs, merges) in [
        ("a\nb\nc\nd\ne\nF\n", "A\nb\nc\nd\ne\nf\n", true),
        ("A\nb\nc\nd\ne\nf\n", "B\nb\nc\nd\ne\nf\n", false),
        ("A\nb\nc\nd\ne\nf\n", "A\nb\nc\nd\ne\nf\n", true),
        ("a\nb\nc\nd\ne\nf\ng\n", "b\nc\nd\ne\nf\n", true),
        ("", "a\nb\nX\nd\ne\nf\n", false),
        ("a\nb\nc\nd\ne\nf", "0\na\nb\nc\nd\ne\nf\n", true),
        ("a\r\nb\nc\nd\ne\nf\n", "a\nb\nc\nd\ne\nf\ng\n", true),
    ] {
        let merged = merge(base.as_bytes(), ours.as_bytes(), theirs.as_bytes());
        let (text, git_merges) = by_git([base, ours, theirs]);
        assert_eq!(
            (merged.is_ok(), git_merges),
            (merges, merges),
            "{ours:?} {theirs:?}"
        );
        if let Ok(merged) = merged {
            assert_eq!(String::from_utf8(merged).unwrap(), text, "{ours:?} {theirs:?}");
        }
    }
}

#[test]
fn a_conflict_shows_both_sides() {
    let MergeConflict(shown) = merge(b"a\n", b"ours", b"theirs\n").unwrap_err();
    assert_eq!(
        String::from_utf8(shown).unwrap(),
        "<<<<<<< ours\nours\n=======\ntheirs\n>>>>>>> theirs\n"
    );
}
