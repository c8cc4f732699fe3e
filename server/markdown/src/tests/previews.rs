//! Previews: the summary and risk of each kind of plan.

use super::super::{Edit, Risk, preview, summarize};
use super::{Flavor, after, append, before, plan, prepend, replace};

#[track_caller]
fn check(old: &str, edit: Edit<'_>, risk: Risk, summary: &str) {
    let plan = plan(old, Flavor::CommonMark, &edit);
    let preview = preview("a.md", old, &edit, &plan);
    assert_eq!((preview.risk, preview.summary.as_str()), (risk, summary), "{edit:?} of {old:?}");
    assert_eq!(summarize(old, &edit, &plan), summary);
    assert_eq!(preview.diff.is_empty(), old == plan.text);
}

fn lines(count: usize) -> String {
    "line\n".repeat(count)
}

#[test]
fn up_to_twenty_added_lines_are_low_risk() {
    check("# A\n", append("a\n"), Risk::Low, "append: +1 -0 lines");
    check("# A\n", append(&lines(20)), Risk::Low, "append: +20 -0 lines");
    check("# A\n", append(&lines(21)), Risk::Medium, "append: +21 -0 lines");
    check("# A", append("a\n"), Risk::Low, "append: +2 -1 lines");
    check("", prepend("a\n"), Risk::Low, "prepend: +1 -0 lines");
    check("# A\n", after("# A", ""), Risk::Low, r##"insert_after "# A": +0 -0 lines"##);
    check("# A\n", prepend("---\nx: y\n---\n"), Risk::Low, "prepend: +3 -0 lines");
}

#[test]
fn removed_lines_are_medium_risk_up_to_twenty_or_half_the_file() {
    let long = format!("{}\n# A\n{}", lines(30), lines(20));
    check(&long, replace("# A", "# A\n"), Risk::Medium, r##"replace_section "# A": +0 -20 lines"##);
    check(
        &long,
        replace("# A", ""),
        Risk::High,
        r##"replace_section "# A": +0 -21 lines; 1 heading is removed"##,
    );
    check(
        "# A\n\n# B\n\nb\n",
        replace("a", ""),
        Risk::Medium,
        r#"replace_section "a": +0 -2 lines; 1 heading is removed"#,
    );
    check(
        "# A\n\n# B\n\n",
        replace("a", ""),
        Risk::High,
        r#"replace_section "a": +0 -2 lines; 1 heading is removed"#,
    );
    check("# A\n", replace("a", "# A\n"), Risk::Low, r#"replace_section "a": +0 -0 lines"#);
}

#[test]
fn changes_outside_the_splice_are_high_risk() {
    let text = "# A\n\n# B\n\nC\n---\n\n# D\n";
    check(
        text,
        before("# B", "```\n"),
        Risk::High,
        r##"insert_before "# B": +2 -0 lines; 3 headings after it are swallowed"##,
    );
    check(
        text,
        after("C", "<!--"),
        Risk::High,
        r#"insert_after "C": +2 -0 lines; 1 heading after it is swallowed"#,
    );
    check(
        "# A\n```\n# B\n",
        replace("# A", "x\n```\n"),
        Risk::High,
        r##"replace_section "# A": +1 -2 lines; 1 heading is removed"##,
    );
    check("~~~\n# A\n", prepend("~~~\n"), Risk::High, "prepend: +1 -0 lines; 1 heading appears around it");
    let swallowed = "prepend: +1 -0 lines; the text after it is swallowed";
    check("one\n\ntwo\n", prepend("<!-- draft\n"), Risk::High, swallowed);
    check("one\n\ntwo\n", prepend("```\n"), Risk::High, swallowed);
    check("one\n\ntwo\n", prepend("```\nx\n```\n"), Risk::Low, "prepend: +3 -0 lines");
    check("one\n\n</p>\n", prepend("<p>\n"), Risk::Low, "prepend: +2 -0 lines");
    for open in ["```js\nx\n", "~~~\n", "# A\n<!--\n"] {
        let inside = "append: +2 -0 lines; it is inside of code or HTML that is open before it";
        check(open, append("## B\nb\n"), Risk::High, inside);
    }
    check(
        "```\n",
        append("```\n"),
        Risk::High,
        "append: +1 -0 lines; it is inside of code or HTML that is open before it",
    );
    check(
        "# A\n---\n",
        prepend("---\n"),
        Risk::High,
        "prepend: +1 -0 lines; 1 heading after it is swallowed; the front matter changes",
    );
}

#[test]
fn the_summary_has_one_line_of_bounded_length() {
    let target = format!("# A\u{202e}\u{200d}{}", "b".repeat(200));
    let text = format!("{target}\n\n{}", lines(5));
    let shown = format!(r"# A\u{{202e}}\u{{200d}}{}…", "b".repeat(115));
    check(
        &text,
        before(&format!("\r\n{target}\n"), "x\n"),
        Risk::Low,
        &format!("insert_before \"{shown}\": +1 -0 lines"),
    );
}
