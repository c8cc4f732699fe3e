//! Merges, compared with those of `git merge-file`.

use std::{fs, process::Command};

use crate::{Flavor, MergeConflict, Outline, merge, merge_documents};

/// Returns the result of `git merge-file` for the three texts, and true if it is a clean merge.
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
        assert_eq!((merged.is_ok(), git_merges), (merges, merges), "{ours:?} {theirs:?}");
        if let Ok(merged) = merged {
            assert_eq!(String::from_utf8(merged).unwrap(), text, "{ours:?} {theirs:?}");
        }
    }
}

#[test]
fn a_conflict_shows_both_sides() {
    let MergeConflict(shown) = merge(b"a\n", b"ours", b"theirs\n").unwrap_err();
    assert_eq!(String::from_utf8(shown).unwrap(), "<<<<<<< ours\nours\n=======\ntheirs\n>>>>>>> theirs\n");
}

const DOCUMENT: &str =
    "---\ntitle: Plan\ntags:\n  - a\n---\n# Plan\n\nintro\n\n## Tasks\n\n- one\n- two\n\n## Notes\n\nnote\n";

/// `DOCUMENT` with a replacement.
fn with(from: &str, to: &str) -> String {
    assert!(DOCUMENT.contains(from), "{from:?}");
    DOCUMENT.replacen(from, to, 1)
}

#[test]
fn changes_made_apart_merge_by_sections() {
    for (own, shared, merged) in [
        // Both append to one list: both lines stay, the shared one first.
        (
            with("- two\n", "- two\n- own\n"),
            with("- two\n", "- two\n- shared\n"),
            Some(with("- two\n", "- two\n- shared\n- own\n")),
        ),
        // An item that both have is there once: after merges of merges, both sides can have items that the base lacks.
        (
            with("- two\n", "- two\n- own\n- both\n"),
            with("- two\n", "- two\n- both\n- shared\n"),
            Some(with("- two\n", "- two\n- own\n- both\n- shared\n")),
        ),
        // Both add a section at the end, which lines would call a conflict.
        (
            DOCUMENT.to_owned() + "\n## Own\n\no\n",
            DOCUMENT.to_owned() + "\n## Shared\n\ns\n",
            Some(DOCUMENT.to_owned() + "\n## Shared\n\ns\n\n## Own\n\no\n"),
        ),
        // A line appended to the last section, and a section after it.
        (
            with("note\n", "note\n- own\n"),
            DOCUMENT.to_owned() + "\n## Shared\n\ns\n",
            Some(with("note\n", "note\n- own\n\n## Shared\n\ns\n")),
        ),
        // Keys of the front matter, and items of a list in it.
        (
            with("title: Plan", "title: Own"),
            with("  - a\n", "  - a\n  - b\n"),
            Some(with("title: Plan", "title: Own").replace("  - a\n", "  - a\n  - b\n")),
        ),
        (
            with("---\n# Plan", "own: 1\n---\n# Plan"),
            with("---\n# Plan", "shared: 2\n---\n# Plan"),
            Some(with("---\n# Plan", "shared: 2\nown: 1\n---\n# Plan")),
        ),
        // A section moved, and a different section changed.
        (
            with("## Notes\n\nnote\n", "")
                .replace("## Tasks", "## Notes\n\nnote\n\n## Tasks")
                .trim_end()
                .to_owned()
                + "\n",
            with("- one\n", "- ONE\n"),
            Some(
                with("## Notes\n\nnote\n", "")
                    .replace("## Tasks", "## Notes\n\nnote\n\n## Tasks")
                    .replace("- one", "- ONE"),
            ),
        ),
        // A renamed heading, and a change below it: by lines.
        (
            with("## Notes", "## Remarks"),
            with("note\n", "note\n\nmore\n"),
            Some(with("## Notes", "## Remarks").replace("note\n", "note\n\nmore\n")),
        ),
        (
            with("# Plan\n", "# The plan\n"),
            with("- one\n", "- ONE\n"),
            Some(with("# Plan\n", "# The plan\n").replace("- one", "- ONE")),
        ),
        // A removed section stays if the other side changed it.
        (with("## Notes\n\nnote\n", ""), with("note\n", "another\n"), None),
        (with("title: Plan", "title: Own"), with("title: Plan", "title: Shared"), None),
        (with("- one\n", "- own\n"), with("- one\n", "- shared\n"), None),
        // A fence that hides the headings below it: by lines.
        (
            with("intro\n", "```\n"),
            with("note\n", "another\n"),
            Some(with("intro\n", "```\n").replace("note\n", "another\n")),
        ),
        (with("", "own\n"), DOCUMENT.to_owned(), Some(with("", "own\n"))),
    ] {
        let found = merge_documents(Some(DOCUMENT), &own, &shared, Flavor::CommonMark);
        match &merged {
            Some(text) => {
                assert_eq!(found.text, *text);
                assert!(!found.is_conflict, "{own:?} {shared:?}");
            }
            None => assert!(found.is_conflict, "{own:?} {shared:?}: {}", found.text),
        }
    }
}

/// A random change of one block, marked with `token`.
fn changed(text: &str, kind: u8, at: usize, token: &str) -> String {
    let starts: Vec<_> = Outline::parse(text, Flavor::CommonMark)
        .sections()
        .iter()
        .map(|section| (section.heading.end, section.body_end))
        .collect();
    let (start, end) = starts[at % starts.len()];
    let (before, body, after) = (&text[..start], &text[start..end], &text[end..]);
    let trimmed = body.trim_end_matches('\n');
    let tail = &body[trimmed.len()..];
    match kind % 5 {
        0 => format!("{before}{trimmed}\n- {token}{tail}{after}"),
        1 => format!("{before}{trimmed} {token}{tail}{after}"),
        2 => format!("{before}\n{token}\n\n{after}"),
        3 => format!("{before}{trimmed}\n\n## New {token}\n\ntext\n\n{after}"),
        _ => format!("{}\n\n## Later {token}\n\ntext\n", text.trim_end()),
    }
}

proptest::proptest! {
    #[test]
    fn a_merge_loses_nothing(kinds in [0u8..5, 0u8..5], places in [0usize..3, 0usize..3]) {
        let own = changed(DOCUMENT, kinds[0], places[0], "OWN");
        let shared = changed(DOCUMENT, kinds[1], places[1], "SHARED");
        let merged = merge_documents(Some(DOCUMENT), &own, &shared, Flavor::CommonMark);
        proptest::prop_assert!(merged.text.contains("SHARED"), "{}", merged.text);
        proptest::prop_assert!(merged.is_conflict || merged.text.contains("OWN"), "{}", merged.text);
        let again = merge_documents(Some(&shared), &merged.text, &shared, Flavor::CommonMark);
        proptest::prop_assert_eq!(again.text, merged.text);
    }
}
