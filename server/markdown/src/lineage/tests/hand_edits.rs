//! Sections are recognized after a person edited the document by hand.

use super::*;
use crate::lineage::SectionChange;

/// Checks the sections of `new`: each is written as its position in `old`, or `_` if it is new.
#[track_caller]
fn check(old: &str, new: &str, expected: &str) {
    let mut lineage = Lineage::new(PATH);
    follow(&mut lineage, &[by_hand(old)]);
    let before = ids(&lineage, old);
    let uncommitted = list(&lineage, new, None).ids;
    follow(&mut lineage, &[by_hand(new)]);
    let after: Vec<SectionId> = ids(&lineage, new).into_iter().map(|(_, id)| id).collect();
    assert_eq!(uncommitted, after, "before and after the commit of {new:?}");
    let before: Vec<SectionId> = before.into_iter().map(|(_, id)| id).collect();
    assert_eq!(names(&after, &before), expected, "{old:?} to {new:?}");
}

/// Returns each id as its position in `before`, or `_` if it is new.
fn names(after: &[SectionId], before: &[SectionId]) -> String {
    let names = after.iter().map(|id| {
        let position = before.iter().position(|other| other == id);
        position.map_or("_".to_owned(), |position| position.to_string())
    });
    names.collect::<Vec<_>>().join(" ")
}

const LONG: &str = "a text that is long enough to say which section it is";

#[test]
fn the_lineage_recognizes_unchanged_sections() {
    check("# A\na\n## B\nb\n", "# A\na\n## B\nb\n", "0 1");
    check("# A\na\n## B\nb\n", "# A\r\na\r\n## B\r\nb\r\n", "0 1");
    check("# A\na\n# B\nb\n", "text\n\n# A\n\n\na\n\n# B\nb", "0 1");
    check("# A\n# A\n# A\n", "# A\n# A\n# A\n", "0 1 2");
    check("# A\nx\n# A\ny\n", "# A\nx\n# A\ny\n# B\n", "0 1 _");
}

#[test]
fn the_lineage_recognizes_a_section_with_changed_text() {
    check("# A\na\n# B\nb\n", "# A\nother\n# B\nb\n", "0 1");
    check("# A\na\n# B\nb\n", "# A\nother\n# B\nothers\n# C\n", "0 1 _");
    check("# A\n## Notes\na\n# B\n## Notes\nb\n", "# A\n## Notes\nx\n# B\n## Notes\ny\n", "0 1 2 3");
    check("# A\nx\n# A\ny\n", "# A\nx\n# A\nz\n", "0 1");
}

#[test]
fn the_lineage_recognizes_a_renamed_section_by_text_or_children() {
    check(&format!("# A\n{LONG}\n# B\n"), &format!("# C\n{LONG}\n# B\n"), "0 1");
    check("# A\na\n# B\nb\n", "# C\na\n# B\nb\n", "0 1");
    check("# A\n## B\nb\n## C\nc\n", "# X\n## B\nb\n## C\nc\n", "0 1 2");
    check("# A\n## B\nb\n## C\nc\n", "# X\n## B\nb\n## C\nother\n", "0 1 2");
    check("# A\na\n# B\nb\n", "# A\na\n# C\nc\n", "0 _");
}

#[test]
fn the_lineage_recognizes_moved_sections() {
    check("# A\na\n# B\nb\n# C\nc\n", "# C\nc\n# A\na\n# B\nb\n", "2 0 1");
    check("# A\n## X\nx\n# B\n", "# A\n# B\n## X\nx\n", "0 2 1");
    check("# A\n# B\nb\n", "# A\n### B\nb\n", "0 1");
    check("# P\n## Notes\n### Old\nold\n# Q\n", "# P\n# Q\n## Notes\n### Old\nold\n", "0 3 1 2");
    check("# A\n## X\nx\n## Y\n# B\n", "# B\n# A\n## Y\n## X\nx\n", "3 0 2 1");
}

#[test]
fn added_and_removed_sections_leave_other_ids() {
    check("# A\na\n# B\nb\n", "# A\na\n# X\nx\n# B\nb\n", "0 _ 1");
    check("# A\na\n# B\nb\n# C\nc\n", "# A\na\n# C\nc\n", "0 2");
    check("# A\n## Notes\nsame\n# B\n## Notes\nsame\n", "# B\n## Notes\nsame\n", "2 3");
    check("# A\n## Notes\n# B\n## Notes\n", "# X\n## Notes\n# A\n## Notes\n# B\n## Notes\n", "_ _ 0 1 2 3");
    check("", "# A\n", "_");
    check("# A\n", "", "");
}

#[test]
fn the_lineage_does_not_guess_ambiguous_sections() {
    check("# A\nx\n# A\ny\n", "# A\nz\n", "_");
    // Both were edited, or the first was deleted and a third one added.
    check("# A\nx\n# A\ny\n", "# A\ny, too\n# A\nz\n", "_ _");
    check("# A\n# A\n", "# A\n", "_");
    check("# A\n# A\n", "# A\n# A\n# A\n", "_ _ _");
    check("# A\n## Notes\na\n# B\n", "# A\n# B\n## Notes\nb\n", "0 2 _");
    check("# A\n## Notes\n### X\na\n# B\n", "# A\n# B\n## Notes\n### Y\nb\n", "0 3 _ _");
    check("# A\nTODO\n## C\n# B\n", "# A\n## C\n# X\nTODO\n", "0 1 _");
}

/// Checks the sections of `new` against those of `old`, both uncommitted, as [`check`] does: without and with a restart between.
#[track_caller]
fn check_uncommitted(old: &str, new: &str, expected: &str, restarted: &str) {
    let mut lineage = Lineage::new(PATH);
    follow(&mut lineage, &[by_hand("# Committed\n")]);
    let before = list(&lineage, old, None);
    let after = list(&lineage, new, Some(&before));
    assert_eq!(names(&after.ids, &before.ids), expected, "{old:?} to {new:?}");
    let cold = list(&lineage, new, None);
    assert_eq!(names(&cold.ids, &before.ids), restarted, "{old:?} to {new:?} after a restart");
    match lineage.follow(&[by_hand(new)], Some(&after), load) {
        Ok(()) => assert_eq!(lineage.ids(&parsed(new)), after.ids, "{new:?} committed"),
        Err(never) => match never {},
    }
}

/// The id of a new section belongs to no other, whatever a person writes.
#[test]
fn an_uncommitted_section_keeps_its_id() {
    check_uncommitted("# X\nx\n", "# Committed\n# X\nx\n# Y\n", "_ 0 _", "_ 0 _");
    check_uncommitted("# X\nx\n", "# X\nother\n", "0", "_");
    check_uncommitted("# X\none\n", "# X\none\n# X\ntwo\n", "0 _", "0 _");
    check_uncommitted("# B\nfirst\n", "# B\nsecond\n# B\nfirst\n", "_ 0", "_ 0");
    check_uncommitted("# B\nsecond\n# B\nfirst\n", "# B\nfirst\n", "1", "1");
    check_uncommitted("# X\none\n# X\ntwo\n", "# X\ntwo\n# X\none\n", "1 0", "1 0");
    check_uncommitted("# A\n## N\nn\n", "# B\n## N\nn\n", "0 1", "_ _");
    check_uncommitted(
        "# A\n## N\n# B\n## N\n",
        "# C\n## N\n# A\n## N\n# B\n## N\n",
        "_ _ 0 1 2 3",
        "_ _ 0 1 2 3",
    );
    check_uncommitted("# P\n## Notes\nold\n# Q\n", "# P\n# Q\n## Notes\nprecious\n", "0 2 _", "0 2 _");
    check_uncommitted(
        "# P\n## Notes\n### Old\nold\n# Q\n",
        "# P\n# Q\n## Notes\n### New\nnew\n",
        "0 3 _ _",
        "0 3 _ _",
    );
    check_uncommitted("# A\n# A\n", "# A\n# A\n", "0 1", "0 1");
    check_uncommitted("# A\n# A\n", "# A\n# A\n# A\n", "_ _ _", "_ _ _");
}

#[test]
fn ids_depend_on_path_contents_and_order() {
    let made = |path: &str, contents: &[&str]| {
        let mut lineage = Lineage::new(path);
        follow(&mut lineage, &contents.iter().map(|content| by_hand(content)).collect::<Vec<_>>());
        ids(&lineage, contents[contents.len() - 1])
    };
    let some = made(PATH, &["# A\n"]);
    assert_eq!(some, made(PATH, &["# A\n"]));
    assert_ne!(some, made("other.md", &["# A\n"]));
    assert_ne!(some, made(PATH, &["", "# A\n"]));
    assert_ne!(some, made(PATH, &["# A\n", "", "# A\n"]), "gone and come again by hand");
}

/// Two branches, or two machines, change the same version in their own ways.
#[test]
fn sections_of_two_branches_have_different_ids() {
    let base = "# A\na\n";
    let made = |change: fn(&Lineage, SectionId, &str) -> SectionChange, text: &str| {
        let mut lineage = Lineage::new(PATH);
        follow(&mut lineage, &[by_hand(base)]);
        let change = change(&lineage, lineage.ids(&parsed(base))[0], text);
        let version = Version { commit: "c".into(), content: Some(text.into()), change: Some(change) };
        follow(&mut lineage, &[version]);
        lineage.ids(&parsed(text))[1]
    };
    let insert = |lineage: &Lineage, _, text: &str| SectionChange::Insert {
        section_id: lineage.new_id(Some("# A\na\n"), text),
        heading: String::new(),
        position: 1,
        sections: 1,
    };
    let update = |_: &Lineage, section_id, _: &str| SectionChange::Update {
        section_id,
        heading: String::new(),
        position: 0,
        sections: 1,
    };
    assert_ne!(made(insert, "# A\na\n# B\n"), made(insert, "# A\na\n# C\n"));
    assert_ne!(made(update, "# A\n## B\n"), made(update, "# A\n## C\n"));
}

#[test]
fn matching_takes_linear_time() {
    let text = |salt: &str| {
        (0..40_000)
            .map(|n| format!("{} same\n\n{}{salt}\n\n", "#".repeat(1 + n % 6), n % 7))
            .collect::<String>()
    };
    let mut lineage = Lineage::new(PATH);
    follow(&mut lineage, &[by_hand(&text("")), by_hand(&text("x"))]);
    assert_eq!(ids(&lineage, &text("x")).len(), 40_000);
}
