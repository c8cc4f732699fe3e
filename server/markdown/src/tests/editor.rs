//! The editor of sections: the exact bytes of each change, and the refused changes.

use super::super::Flavor;
use super::super::editor::{self, ParsedDocument, SectionError, SectionPlan};

/// A change of sections, for tables.
#[derive(Debug, Clone, Copy)]
enum Change {
    /// Position, heading and content.
    Insert(usize, &'static str, &'static str),
    /// Position and content.
    Update(usize, &'static str),
    Delete(usize),
    /// Old and new position.
    Move(usize, usize),
}
use Change::{Delete, Insert, Move, Update};

fn plan(old: &str, change: Change) -> Result<SectionPlan, SectionError> {
    let document = ParsedDocument::new(old, Flavor::CommonMark).expect("a small document");
    match change {
        Insert(position, heading, content) => editor::insert(&document, position, heading, content),
        Update(position, content) => editor::update(&document, position, content),
        Delete(position) => editor::delete(&document, position),
        Move(from, to) => editor::relocate(&document, from, to),
    }
}

#[track_caller]
fn check(cases: &[(&str, Change, &str)]) {
    for (old, change, new) in cases {
        let plan = plan(old, *change).unwrap_or_else(|error| panic!("{change:?} of {old:?}: {error}"));
        assert_eq!(plan.text, *new, "{change:?} of {old:?}");
    }
}

#[track_caller]
fn refuse(cases: &[(&str, Change, &str)]) {
    for (old, change, part) in cases {
        match plan(old, *change) {
            Ok(plan) => panic!("{change:?} of {old:?} became {:?}", plan.text),
            Err(error) => assert!(error.to_string().contains(part), "{change:?} of {old:?}: {error}"),
        }
    }
}

const TREE: &str = "# A\n\na\n\n## B\n\nb\n\n### C\n\nc\n\n## D\n\nd\n";

#[test]
fn a_new_section_has_the_level_of_the_one_it_displaces() {
    check(&[
        (TREE, Insert(0, "X", "x"), "# X\n\nx\n\n# A\n\na\n\n## B\n\nb\n\n### C\n\nc\n\n## D\n\nd\n"),
        (TREE, Insert(1, "X", "x"), "# A\n\na\n\n## X\n\nx\n\n## B\n\nb\n\n### C\n\nc\n\n## D\n\nd\n"),
        (TREE, Insert(2, "X", ""), "# A\n\na\n\n## B\n\nb\n\n### X\n\n### C\n\nc\n\n## D\n\nd\n"),
        (TREE, Insert(4, "X", "x\n"), "# A\n\na\n\n## B\n\nb\n\n### C\n\nc\n\n## D\n\nd\n\n## X\n\nx\n"),
        (
            TREE,
            Insert(4, "# X", "\n\nx\n\n"),
            "# A\n\na\n\n## B\n\nb\n\n### C\n\nc\n\n## D\n\nd\n\n# X\n\nx\n",
        ),
        ("", Insert(0, "X", "x"), "# X\n\nx\n"),
        ("", Insert(0, "### X", ""), "### X\n"),
        ("only text", Insert(0, "X", "x"), "only text\n\n# X\n\nx\n"),
        ("only text\n", Insert(0, "X", "x"), "only text\n\n# X\n\nx\n"),
        ("only text\n\n", Insert(0, "X", "x"), "only text\n\n# X\n\nx\n"),
        ("\n\n", Insert(0, "X", "x"), "\n\n# X\n\nx\n"),
        ("text\n# A\n", Insert(0, "X", "x"), "text\n\n# X\n\nx\n\n# A\n"),
        ("A\n===\n", Insert(0, "X", "x"), "# X\n\nx\n\nA\n===\n"),
        ("# A\n# B\n", Insert(1, "X", ""), "# A\n\n# X\n\n# B\n"),
    ]);
}

#[test]
fn the_editor_keeps_line_endings_byte_order_mark_and_front_matter() {
    check(&[
        ("\u{feff}", Insert(0, "X", "x"), "\u{feff}# X\n\nx\n"),
        ("\u{feff}# A\n", Insert(0, "X", "x"), "\u{feff}# X\n\nx\n\n# A\n"),
        ("---\na: b\n---\n", Insert(0, "X", "x"), "---\na: b\n---\n\n# X\n\nx\n"),
        ("---\na: b\n---", Insert(0, "X", "x"), "---\na: b\n---\n\n# X\n\nx\n"),
        ("---\na: b\n---\n# A\n", Insert(0, "X", "x"), "---\na: b\n---\n\n# X\n\nx\n\n# A\n"),
        ("# A\r\n\r\na\r\n", Insert(1, "X", "x"), "# A\r\n\r\na\r\n\r\n# X\r\n\r\nx\r\n"),
        ("# A\r\n\r\na", Insert(1, "X", "x"), "# A\r\n\r\na\r\n\r\n# X\r\n\r\nx\r\n"),
        ("# A\ra\r", Insert(0, "X", "x"), "# X\r\rx\r\r# A\ra\r"),
        ("# A\r\n\r\na\r\n\r\n# B\r\n", Update(0, "x"), "# A\r\n\r\nx\r\n\r\n# B\r\n"),
        ("# A\r\n# B\r\n", Update(0, "x"), "# A\r\n\r\nx\r\n\r\n# B\r\n"),
        ("# A\r\n\r\na\r\n# B", Move(1, 0), "# B\r\n# A\r\n\r\na"),
    ]);
}

#[test]
fn insert_writes_the_given_heading() {
    check(&[
        ("", Insert(0, " X ", ""), "# X\n"),
        ("", Insert(0, "## X ##", ""), "## X\n"),
        ("", Insert(0, "C#", ""), "# C#\n"),
        ("", Insert(0, "about #", ""), "# about # #\n"),
        ("", Insert(0, "#tag", ""), "# #tag\n"),
        ("", Insert(0, "####### seven", ""), "# ####### seven\n"),
        ("", Insert(0, "*a* `b`", ""), "# *a* `b`\n"),
        ("", Insert(0, "- a", ""), "# - a\n"),
    ]);
    refuse(&[
        ("", Insert(0, "", "x"), "empty"),
        ("", Insert(0, " \t", "x"), "empty"),
        ("", Insert(0, "##", "x"), "empty"),
        ("", Insert(0, "a\nb", "x"), "line break"),
        ("", Insert(0, "a\r\n# b", "x"), "line break"),
    ]);
}

#[test]
fn update_replaces_only_the_sections_own_text() {
    check(&[
        (TREE, Update(0, "x"), "# A\n\nx\n\n## B\n\nb\n\n### C\n\nc\n\n## D\n\nd\n"),
        (TREE, Update(1, "x\n\ny\n"), "# A\n\na\n\n## B\n\nx\n\ny\n\n### C\n\nc\n\n## D\n\nd\n"),
        (TREE, Update(3, "x"), "# A\n\na\n\n## B\n\nb\n\n### C\n\nc\n\n## D\n\nx\n"),
        (TREE, Update(1, ""), "# A\n\na\n\n## B\n\n### C\n\nc\n\n## D\n\nd\n"),
        (TREE, Update(3, ""), "# A\n\na\n\n## B\n\nb\n\n### C\n\nc\n\n## D\n"),
        ("# A\na\n# B\n", Update(0, "x"), "# A\nx\n# B\n"),
        ("# A\na\n# B\n", Update(0, ""), "# A\n# B\n"),
        ("# A\n# B\n", Update(0, "x"), "# A\n\nx\n\n# B\n"),
        ("# A\n\n# B\n", Update(0, "x"), "# A\n\nx\n\n# B\n"),
        ("# A\n\n\n\n# B\n", Update(0, "x"), "# A\n\nx\n\n\n# B\n"),
        ("# A\n\n# B\n", Update(1, "x"), "# A\n\n# B\n\nx\n"),
        ("# A", Update(0, "x"), "# A\n\nx"),
        ("# A\n\na", Update(0, "x"), "# A\n\nx"),
        ("# A\n\n    code\n", Update(0, "    other"), "# A\n\n    other\n"),
        ("# A\n\n    code\n", Update(0, "\n    code\n\n"), "# A\n\n    code\n"),
        ("# A\n\na\n## C\nc\n", Update(0, "x\n\n## B\n\nb"), "# A\n\nx\n\n## B\n\nb\n## C\nc\n"),
    ]);
}

#[test]
fn content_may_begin_with_the_sections_own_heading() {
    check(&[
        (TREE, Update(1, "## B\n\nx\n"), "# A\n\na\n\n## B\n\nx\n\n### C\n\nc\n\n## D\n\nd\n"),
        (TREE, Update(1, "\n## B ##\nx"), "# A\n\na\n\n## B\n\nx\n\n### C\n\nc\n\n## D\n\nd\n"),
        (TREE, Update(1, "## B"), "# A\n\na\n\n## B\n\n### C\n\nc\n\n## D\n\nd\n"),
        (TREE, Update(1, "## B\n\nb"), TREE),
        ("A\n===\n\na\n", Update(0, "A\n===\n\nx"), "A\n===\n\nx\n"),
        ("A\n===\n\na\n", Update(0, "# A\n\nx"), "A\n===\n\nx\n"),
        ("", Insert(0, "X", "# X\n\nx"), "# X\n\nx\n"),
        ("", Insert(0, "## X", "## X\nx"), "## X\n\nx\n"),
        ("", Insert(0, "X", "## X\n\nx"), "# X\n\n## X\n\nx\n"),
    ]);
}

#[test]
fn delete_removes_a_section_with_all_below_it() {
    check(&[
        (TREE, Delete(0), ""),
        (TREE, Delete(1), "# A\n\na\n\n## D\n\nd\n"),
        (TREE, Delete(2), "# A\n\na\n\n## B\n\nb\n\n## D\n\nd\n"),
        (TREE, Delete(3), "# A\n\na\n\n## B\n\nb\n\n### C\n\nc\n"),
        ("# A\r\n\r\n# B\r\n\r\nb", Delete(1), "# A\r\n"),
        ("---\nx: y\n---\n\n# A\n", Delete(0), "---\nx: y\n---\n"),
        ("a\n# X\nB\n===\n", Delete(0), "a\n\nB\n===\n"),
        ("\u{feff}# A\n", Delete(0), "\u{feff}"),
    ]);
}

#[test]
fn relocate_moves_a_section_to_its_new_position() {
    check(&[
        (TREE, Move(3, 1), "# A\n\na\n\n## D\n\nd\n\n## B\n\nb\n\n### C\n\nc\n"),
        (TREE, Move(1, 2), "# A\n\na\n\n## D\n\nd\n\n## B\n\nb\n\n### C\n\nc\n"),
        (TREE, Move(2, 3), "# A\n\na\n\n## B\n\nb\n\n## D\n\nd\n\n### C\n\nc\n"),
        (TREE, Move(1, 1), TREE),
        ("# A\na\n# B\nb", Move(1, 0), "# B\nb\n# A\na"),
        ("# A\na\n# B\nb", Move(0, 1), "# B\nb\n# A\na"),
        ("text\n# A\n# B\n", Move(1, 0), "text\n# B\n# A\n"),
        ("# A\na\n\nB\n===\nb\n", Move(1, 0), "B\n===\nb\n\n# A\na\n"),
        ("A\n===\na\n# B\nb\n", Move(0, 1), "# B\nb\n\nA\n===\na\n"),
        ("# A\n# B\nb\n# C\nC\n===\n", Move(2, 1), "# A\n# C\n# B\nb\n\nC\n===\n"),
        ("# A\n## A1\n# B\n", Move(0, 1), "# B\n# A\n## A1\n"),
    ]);
}

#[test]
fn the_editor_refuses_positions_outside_the_document() {
    refuse(&[
        (TREE, Insert(5, "X", ""), "there are 0 to 4"),
        ("", Insert(1, "X", ""), "the only one is 0"),
        (TREE, Move(3, 4), "there are 0 to 3"),
        (
            TREE,
            Move(1, 3),
            "there are 0 to 2, since the 1 below it move with the section and it can't stand in itself",
        ),
        (TREE, Move(0, 1), "the only one is 0, since the 3 below it"),
    ]);
}

#[test]
fn the_editor_refuses_changes_to_other_sections() {
    refuse(&[
        (TREE, Update(0, "```\nx"), "\"B\" (line 5) would become part of the text before it"),
        (TREE, Update(1, "<!-- x"), "\"C\" (line 9)"),
        (TREE, Insert(1, "X", "~~~"), "\"B\" (line 5)"),
        (
            TREE,
            Update(1, "# X"),
            "the heading \"X\" of level 1, which would end the section (level 2); use level 3 or below",
        ),
        (TREE, Update(1, "x\n\n## B\n"), "heading \"B\" of level 2"),
        (TREE, Insert(1, "X", "x\n\nY\n---\n"), "heading \"Y\" of level 2"),
        ("# A\n### B\n", Update(0, "## X"), "would take \"B\" in"),
        ("# A\n```\na\n", Insert(1, "X", ""), "\"# X\" would not be a heading there"),
        ("```\n", Insert(0, "X", "```\n# X"), "\"# X\" would not be a heading there"),
        ("<!--\n", Insert(0, "X", "-->\n\n## X"), "\"# X\" would not be a heading there"),
        ("", Insert(0, "X\nY", ""), "has a line break"),
        ("", Insert(0, "X\rY", ""), "has a line break"),
        ("---\ntext\n", Insert(0, "X", "x\n\n---\n\ny"), "front matter and does not close it"),
    ]);
}

#[test]
fn a_plan_names_the_sections_that_it_puts_below_a_different_heading() {
    let text = "# Guide\n\n## Install\n\n### Linux\n\n### Mac\n\n## FAQ\n";
    let document = ParsedDocument::new(text, Flavor::CommonMark).expect("a small document");
    for (change, moved, expected) in [
        (Move(4, 2), 4..5, vec!["Linux", "Mac"]),
        (Move(4, 1), 4..5, vec![]),
        (Move(1, 2), 1..4, vec![]),
        (Move(2, 3), 2..3, vec![]),
        (Insert(3, "## New", ""), 0..0, vec!["Mac"]),
        (Insert(1, "# New", ""), 0..0, vec!["Install", "FAQ"]),
        (Insert(4, "New", ""), 0..0, vec![]),
    ] {
        let plan = plan(text, change).unwrap_or_else(|error| panic!("{change:?}: {error}"));
        let adopted: Vec<_> = plan.adopted(&document, &moved).iter().map(|section| &*section.text).collect();
        assert_eq!(adopted, expected, "{change:?}");
    }
}
