//! Merges, compared with those of `git merge-file`.

use std::{fs, process::Command};

use crate::{
    Flavor, MergeConflict, Merged, Outline, diff::Comparison, merge, merge::slid_parts, merge_documents,
    unresolved_conflict,
};

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

/// A base, what the own and the shared side make of it, and the merged document; `None` for a conflict.
type Insertions = (&'static str, [&'static str; 2], Option<&'static str>);

#[test]
fn insertions_at_one_place_stay_in_one_piece() {
    const LOG: &str = "# Log\n\nstart\n";
    let cases: [Insertions; 15] = [
        (
            LOG,
            ["\n```\ncd /b\nrm -r y\nmake\n```\n", "\n```\ncd /a\nrm -r x\nmake\n```\n"],
            Some("\n```\ncd /a\nrm -r x\nmake\n```\n\n```\ncd /b\nrm -r y\nmake\n```\n"),
        ),
        ("x\n", ["```\nb\n```\n", "```\na\n```\n"], Some("```\na\n```\n```\nb\n```\n")),
        ("x\n", ["```\nb\n```\n", "```sh\na\n```\n"], Some("```sh\na\n```\n```\nb\n```\n")),
        (
            LOG,
            ["\nBob said:\n\n> no\n\nThat is final.\n", "\nAnn said:\n\n> yes\n\nThat is final.\n"],
            Some("\nAnn said:\n\n> yes\n\nThat is final.\n\nBob said:\n\n> no\n\nThat is final.\n"),
        ),
        (
            "- name: Cy\n",
            ["- name: Bob\n  city: Bonn\n  role: boss\n", "- name: Ann\n  city: Bonn\n  role: boss\n"],
            Some("- name: Ann\n  city: Bonn\n  role: boss\n- name: Bob\n  city: Bonn\n  role: boss\n"),
        ),
        ("- a\n", ["- x\n- y\n", "- y\n- z\n"], Some("- x\n- y\n- z\n")),
        ("- a\n", ["- y\n- z\n", "- x\n- y\n"], Some("- x\n- y\n- z\n")),
        ("- a\n", ["- y\n", "- x\n- y\n- z\n"], Some("- x\n- y\n- z\n")),
        // An item's own lines stay below it.
        ("- a\n", ["  - a1\n", "- b\n"], Some("  - a1\n- b\n")),
        ("- a\n", ["\n  more\n", "\n- b\n"], Some("\n  more\n\n- b\n")),
        ("- a\n", ["- b\n", "\ntext\n"], Some("- b\n\ntext\n")),
        // Front matter.
        (
            "---\nlinks:\n  - id: 1\n    to: x\n",
            ["  - id: 3\n    to: z\n    by: Ann\n---\n", "  - id: 2\n    to: y\n    by: Ann\n---\n"],
            Some("  - id: 2\n    to: y\n    by: Ann\n  - id: 3\n    to: z\n    by: Ann\n---\n"),
        ),
        ("---\nmeta:\n  a: 1\n", ["  c: 3\n---\n", "  b: 2\n---\n"], Some("  b: 2\n  c: 3\n---\n")),
        ("---\nmeta:\n  a: 1\n", ["  b: 3\n---\n", "  b: 2\n---\n"], None),
        ("---\nall:\n  - to: x\n", ["    by: Bob\n---\n", "    by: Ann\n---\n"], None),
    ];
    for (base, inserted, expected) in cases {
        let ending = if base.starts_with("---") { "---\n" } else { "" };
        let [own, shared] = inserted.map(|lines| format!("{base}{lines}"));
        let found = merge_documents(Some(&format!("{base}{ending}")), &own, &shared, Flavor::CommonMark);
        match expected {
            Some(lines) => {
                assert_eq!(found.text, format!("{base}{lines}"));
                assert!(!found.is_conflict, "{own:?} {shared:?}");
            }
            None => assert_eq!(found, Merged { text: shared, is_conflict: true }),
        }
    }
}

#[test]
fn an_item_that_ends_like_the_one_above_is_not_cut() {
    let base = "- first\n- a\n  role: boss\n";
    let [own, shared] =
        ["- first\n- a\n  city: Bonn\n  role: boss\n", "- a\n  role: boss\n- b\n  role: boss\n"];
    let text = "- a\n  city: Bonn\n  role: boss\n- b\n  role: boss\n".to_owned();
    let found = merge_documents(Some(base), own, shared, Flavor::CommonMark);
    assert_eq!(found, Merged { text, is_conflict: false });
}

#[test]
fn a_conflict_keeps_what_both_sides_have() {
    let trip = |day: &str, heading: &str, more: &str| {
        format!("# Trip\n\nLeave on {day}.\n\n{heading}Passports!\n\n## Later\n\nz\n{more}")
    };
    let packing = "## Packing\n\n";
    for (own, shared, text) in [
        (trip("Friday", "", ""), trip("Tuesday", packing, ""), trip("Tuesday", packing, "")),
        (trip("Friday", "", "more\n"), trip("Tuesday", packing, ""), trip("Tuesday", packing, "more\n")),
        (trip("Friday", "\n", ""), trip("Tuesday", packing, ""), trip("Tuesday", "\n", "")),
        (trip("Friday", "## Bags\n\n", ""), trip("Tuesday", "", ""), trip("Tuesday", "", "")),
    ] {
        let found = merge_documents(Some(&trip("Monday", packing, "")), &own, &shared, Flavor::CommonMark);
        assert_eq!(found, Merged { text, is_conflict: true });
    }
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

    #[test]
    fn a_merge_keeps_common_lines_and_runs(
        base in proptest::collection::vec(0usize..BLOCKS.len(), 1..14),
        edits in [proptest::collection::vec(any_edit(), 1..4), proptest::collection::vec(any_edit(), 1..4)],
    ) {
        let base: Vec<String> = base.iter().enumerate().map(|(at, kind)| BLOCKS[*kind].replace('@', &format!("{at}"))).collect();
        let base = base.concat();
        let [(own, own_runs), (shared, shared_runs)] =
            [("OWN", &edits[0]), ("SHARED", &edits[1])].map(|(token, edits)| edited(&base, edits, token));
        let merged = merge_documents(Some(&base), &own, &shared, Flavor::CommonMark);
        let text = &merged.text;
        let count = |text: &str, line: &str| text.lines().filter(|other| *other == line).count();
        for line in own.lines().filter(|line| !line.is_empty()) {
            let [b, o, s] = [&base, &own, &shared].map(|text| count(text, line));
            let least = o.min(s).min((o + s).saturating_sub(b));
            proptest::prop_assert!(count(text, line) >= least, "{line:?}\n{base}\n---\n{own}\n---\n{shared}\n---\n{text}");
        }
        for run in own_runs.iter().chain(&shared_runs) {
            proptest::prop_assert!(merged.is_conflict || text.contains(run.as_str()), "{run:?}\n{base}\n---\n{own}\n---\n{shared}\n---\n{text}");
        }
    }
}

/// Blocks of a base; `@` is their number.
const BLOCKS: [&str; 6] = [
    "## Heading N@\n\n",
    "text N@\n\n",
    "- item N@\n",
    "- item N@\n  of: base\n",
    "~~~\ncode N@\n~~~\n\n",
    "> quote N@\n\nend\n\n",
];

/// Blocks that a side inserts; `@` is a token. The other lines are in none of the base's, so that each run's place is clear.
const INSERTED: [&str; 6] = [
    "- item @\n",
    "- name: @\n  city: Bonn\n  role: boss\n",
    "\n```\ncd @\nmake\n```\n",
    "\n@ said:\n\n> yes\n\nThat is final.\n",
    "text @\n\n",
    "## Section @\n\ntext\n\n",
];

/// A kind of edit, its place, and the block that it inserts.
fn any_edit() -> impl proptest::strategy::Strategy<Value = (u8, usize, usize)> {
    (0u8..4, 0usize..64, 0usize..INSERTED.len())
}

/// Returns the text with the edits, and the runs of lines that they insert and that stay, from heading to heading.
fn edited(base: &str, edits: &[(u8, usize, usize)], token: &str) -> (String, Vec<String>) {
    let mut lines: Vec<String> = base.split_inclusive('\n').map(String::from).collect();
    let mut runs = vec![];
    for (number, (kind, place, block)) in edits.iter().enumerate() {
        let token = format!("{token}-{number}");
        let at = place % (lines.len() + 1);
        match kind {
            0 | 1 => {
                let block = INSERTED[*block].replace('@', &token);
                let inserted: Vec<String> = block.split_inclusive('\n').map(String::from).collect();
                runs.push(block.trim_matches('\n').to_owned());
                lines.splice(at..at, inserted);
            }
            _ if at == lines.len() => {}
            2 => drop(lines.remove(at)),
            _ => lines[at] = format!("changed {token}\n"),
        }
    }
    let text = lines.concat();
    // A later edit can make it more likely that its lines came by others.
    let (base, side): (Vec<_>, _) = (base.split_inclusive('\n').collect(), Comparison::between(base, &text));
    let parts: Vec<_> = slid_parts(&base, &side).iter().map(|part| side.replacement(part).concat()).collect();
    runs.retain(|run| parts.iter().any(|part| part.contains(run.as_str())));
    (text, runs)
}

#[test]
fn a_conflict_that_git_left_is_found_outside_of_code() {
    let conflict = "<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> branch\n";
    for (text, lines) in [
        (conflict.to_owned(), Some((1, 5))),
        (format!("# A\r\n\r\n{}", conflict.replace('\n', "\r\n")), Some((3, 7))),
        (format!("a\r{}", conflict.replace('\n', "\r")), Some((2, 6))),
        ("<<<<<<<\na\n||||||| base\nb\n=======\nc\n>>>>>>>".to_owned(), Some((1, 7))),
        (format!("```\nan example\n{conflict}```\n"), None),
        (format!("```\n{conflict}```\n\n{conflict}"), Some((9, 13))),
        ("<<<<<<< HEAD\nours\n\n>>>>>>> branch\n".to_owned(), None),
        ("a\n=======\n\n>>>>>>> b\n".to_owned(), None),
        ("<<<<<<<< a\n=======\n>>>>>>>> b\n".to_owned(), None),
    ] {
        let found = unresolved_conflict(&text, Flavor::CommonMark);
        assert_eq!(found.map(|found| (found.first, found.last)), lines, "{text:?}");
    }
}
