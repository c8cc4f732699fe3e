//! Operations: the exact bytes of each edit.

use super::super::Edit;
use super::{Flavor, after, append, before, plan, prepend, replace};

#[track_caller]
fn check(old: &str, edit: Edit<'_>, new: &str) {
    assert_eq!(plan(old, Flavor::CommonMark, &edit).text, new, "{edit:?} of {old:?}");
}

#[track_caller]
fn check_mdx(old: &str, edit: Edit<'_>, new: &str) {
    assert_eq!(plan(old, Flavor::Mdx, &edit).text, new, "{edit:?} of {old:?}");
}

const NESTED: &str = "# A\na\n## B\nb\n### C\nc\n## D\nd\n";

#[test]
fn replace_section_takes_heading_text_and_children() {
    check(NESTED, replace("## B", "## X\nx\n"), "# A\na\n## X\nx\n## D\nd\n");
    check(NESTED, replace("### C", "x"), "# A\na\n## B\nb\n\nx\n## D\nd\n");
    check(NESTED, replace("# A", "x"), "x");
    check(NESTED, replace("## D", "## D"), "# A\na\n## B\nb\n### C\nc\n## D");
    check(NESTED, replace("## B", ""), "# A\na\n## D\nd\n");
    check("# A\n\na\n\n## B\n\nb\n", replace("## B", ""), "# A\n\na\n\n");
    check("# A\r\n\r\na\r\n# B\r\n", replace("A", "# X\nx"), "# X\nx\r\n# B\r\n");
}

#[test]
fn insert_before_and_after_place_content_next_to_a_section() {
    check(NESTED, before("## B", "## X\n"), "# A\na\n## X\n## B\nb\n### C\nc\n## D\nd\n");
    check(NESTED, after("## B", "## X\n"), "# A\na\n## B\nb\n### C\nc\n## X\n## D\nd\n");
    check(NESTED, after("## D", "## X"), "# A\na\n## B\nb\n### C\nc\n## D\nd\n## X");
    check("# A", after("# A", "a"), "# A\na");
    check("# A\r\n# B", after("# B", "b"), "# A\r\n# B\r\nb");
    check("# A\n# B\n", before("# B", "a\n\n"), "# A\na\n\n# B\n");
}

#[test]
fn append_and_prepend_place_content_at_either_end() {
    check("", append("a"), "a");
    check("", prepend("a"), "a");
    check("# A", append("a\n"), "# A\na\n");
    check("# A\n", prepend("a"), "a\n# A\n");
    check("---\nx: y\n---\n\n# A\n", prepend("a\n"), "---\nx: y\n---\na\n\n# A\n");
    check("---\nx: y\n---", prepend("a"), "---\nx: y\n---\na");
    check("---\r\nx: y\r\n---", append("a"), "---\r\nx: y\r\n---\r\na");
    check("\u{feff}# A\n", prepend("a"), "\u{feff}a\n# A\n");
    check("\u{feff}", append("a"), "\u{feff}a");
}

#[test]
fn empty_content_adds_nothing() {
    for text in ["", "# A", "# A\r\n", "\u{feff}", "---\n---", "A\n===", "\n\n# A\n\n"] {
        check(text, append(""), text);
        check(text, prepend(""), text);
        if text.contains('A') {
            check(text, before("A", ""), text);
            check(text, after("A", ""), text);
        }
    }
}

#[test]
fn a_blank_line_protects_an_untouched_block() {
    check("A\n===\n", prepend("a\n"), "a\n\nA\n===\n");
    check("A\r\n===\r\n", before("A", "a"), "a\r\n\r\nA\r\n===\r\n");
    check("a\n", append("b\n"), "a\n\nb\n");
    check("a", append("---"), "a\n\n---");
    check("a\n", prepend("b\n"), "b\n\na\n");
    check("- a\n", append("b\n"), "- a\n\nb\n");
    check("> a\n", append("b\n"), "> a\n\nb\n");
    check("<div>\n", append("# A\n"), "<div>\n\n# A\n");
    check("# A\n\n[a]: /a\n", append("'b'\n"), "# A\n\n[a]: /a\n\n'b'\n");
    check("[a]: /a\n", prepend("b\n"), "b\n\n[a]: /a\n");
    check("a\n# X\nB\n===\n", replace("X", ""), "a\n\nB\n===\n");
    check("a\n# X\nB\n===\n", replace("X", "x\n"), "a\n\nx\n\nB\n===\n");
    check("a\n# X\nx\n# B\n", replace("X", "b"), "a\n\nb\n# B\n");
    check("# A\n| a |\n|---|\n| 1 |\n", append("text"), "# A\n| a |\n|---|\n| 1 |\n\ntext");
    check("| a |\n|---|\n", append("| b |\n|---|\n"), "| a |\n|---|\n\n| b |\n|---|\n");
}

#[test]
fn a_heading_keeps_the_blank_line_above_it() {
    let goals = "## Goals\n\none\n\n## Risks\n";
    for content in ["two", "two\n", "two\n\n"] {
        let new = "## Goals\n\none\n\ntwo\n\n## Risks\n";
        check(goals, after("## Goals", content), new);
        check(goals, before("## Risks", content), new);
    }
    check(goals, after("## Goals", "two\n\n\n"), "## Goals\n\none\n\ntwo\n\n\n## Risks\n");
    check(goals, after("## Goals", "\n"), "## Goals\n\none\n\n\n## Risks\n");
    check(goals, after("## Goals", "x\n \t\n"), "## Goals\n\none\n\nx\n \t\n## Risks\n");
    check(goals, after("## Risks", "x"), "## Goals\n\none\n\n## Risks\nx");
    check(goals, replace("## Goals", "## Aims\n\ntwo"), "## Aims\n\ntwo\n\n## Risks\n");
    check(goals, replace("## Goals", ""), "## Risks\n");
    check(goals, prepend("x"), "x\n## Goals\n\none\n\n## Risks\n");
    check("a\n\n\n# B\n", before("# B", "x"), "a\n\n\nx\n\n# B\n");
    check("\n# B\n", before("# B", "x"), "\nx\n\n# B\n");
    check("# A\na\n# B\n", after("# A", "## X"), "# A\na\n## X\n# B\n");
    check("# A\r\n\r\nB\r\n===\r\n", after("# A", "x"), "# A\r\n\r\nx\r\n\r\nB\r\n===\r\n");
    check("# A\r\n\r\n# B\n", after("# A", "x\ny"), "# A\r\n\r\nx\ny\r\n\r\n# B\n");
    check("# A\r\r# B\r", after("# A", "x\r"), "# A\r\rx\r\r# B\r");
    check("# A\n\n# B\n", after("# A", "x\r"), "# A\n\nx\r\n\n# B\n");
    check("# A\n \n# B\n", after("# A", "```\nx"), "# A\n \n```\nx\n\n# B\n");
}

#[test]
fn content_continues_a_block_of_its_kind() {
    for (block, more) in [
        ("| a |\n|---|\n| 1 |\n", "| 2 |\n"),
        ("a | b\n---|---\n1 | 2\n", "3 | 4\n5 | 6\n"),
        ("- x\n\n  | a |\n  |---|\n  | 1 |\n", "  | 2 |\n"),
        ("1. x\n\n   > a\n", "   > b\n   > c\n"),
        ("- x\n  - y\n\n    a | b\n    ---|---\n    1 | 2\n", "    3 | 4\n"),
        ("- | a |\n  |---|\n", "  | 1 |\n"),
        ("- a\n", "- b\n"),
        ("- [ ] a\n", "- [x] b\n"),
        ("1. a\n2. b\n", "3. c\n"),
        ("- a\n  - b\n", "- c\n- d\n"),
        ("> a\n", "> b\n"),
        ("> [!note]\n> a\n", "> b\n"),
    ] {
        for ending in ["\n", "\r\n", "\r"] {
            let [block, more, below] = [block, more, "\n## E\n"].map(|text| text.replace('\n', ending));
            let old = format!("## S{ending}{block}{below}");
            let new = format!("## S{ending}{block}{more}{below}");
            let unended = more.trim_end();
            for more in [&more, unended, &format!("{more}{ending}")] {
                check(&old, after("## S", more), &new);
                check(&old, before("## E", more), &new);
            }
            let open = old.replace("## E", "");
            check(&open, append(&more), &new.replace("## E", ""));
            let unended = format!("## S{ending}{}", block.trim_end());
            check(&unended, append(&more), &format!("{unended}{ending}{more}"));
        }
    }
    check("> a\n", prepend("> new\n"), "> new\n> a\n");
    let loose = "# S\n- a\n\n- b\n\n# E\n";
    check(loose, after("# S", "- c"), "# S\n- a\n\n- b\n\n- c\n\n# E\n");
}

#[test]
fn content_of_another_kind_continues_nothing() {
    for (block, other) in [
        ("| a |\n|---|\n| 1 |\n", "| b |\n|---|\n| 2 |\n"),
        ("- a\n", "* b\n"),
        ("1. a\n", "1) b\n"),
        ("- a\n", "1. b\n"),
        ("> a\n", "> [!note] b\n"),
        ("a\n", "b\n"),
        ("> a\n", "\n> b\n"),
    ] {
        check(&format!("# S\n{block}\n# E\n"), after("# S", other), &format!("# S\n{block}\n{other}\n# E\n"));
    }
    check("> [!note] a\n", prepend("> b\n"), "> b\n\n> [!note] a\n");
}

#[test]
fn an_edit_adds_no_blank_line_without_need_or_effect() {
    check("a\n", append("# A\n"), "a\n# A\n");
    check("# A\n", append("a\n"), "# A\na\n");
    check("a\n\n", append("b\n"), "a\n\nb\n");
    check("- a\n", append("- b\n"), "- a\n- b\n");
    check("1. a\n", append("2. b"), "1. a\n2. b");
    check("[a]: /a\n", append("[b]: /b\n"), "[a]: /a\n[b]: /b\n");
    check("```\na\n", append("b\n"), "```\na\nb\n");
    check("<!--\n", append("b\n"), "<!--\nb\n");
    check("    a\n", append("    b\n"), "    a\n    b\n");
    check("| a |\n|---|\n", append("| 1 |\n"), "| a |\n|---|\n| 1 |\n");
    check("# A\n# B\n", before("B", "```\n"), "# A\n```\n# B\n");
}

#[test]
fn an_edit_uses_the_documents_line_ending() {
    check("a\rb\r# A", append("c"), "a\rb\r# A\rc");
    check("a\r# B\r", append("\n\nc"), "a\r# B\r\r\n\nc");
    check("# A\r\n# B\n# C\r\n", before("B", "x"), "# A\r\nx\r\n# B\n# C\r\n");
    check("# A\r\n# B\n", before("B", "x"), "# A\r\nx\n# B\n");
    check("# A\n", append("b\r\nc\r"), "# A\nb\r\nc\r");
}

#[test]
fn a_blank_line_separates_mdx_statements() {
    check_mdx("import a from 'a'\n", append("text\n"), "import a from 'a'\n\ntext\n");
    check_mdx("import a from 'a'\n", prepend("text\n"), "text\n\nimport a from 'a'\n");
    check_mdx("<Tab/>\n", append("text\n"), "<Tab/>\ntext\n");
}
