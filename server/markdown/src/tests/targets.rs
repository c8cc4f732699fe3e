//! Targets: the notations that find a heading, and the messages of refusals.

use super::super::TargetError;
use super::outline;

const DOCUMENT: &str = "\
# Plan
## Scope
### **Bold** text ###
## Log
### Log
## Log
Setext title
------------
Two
lines
===
> ## Quoted
## scope-2
## a # b
## Tags & co.
";

/// Returns the line of the heading that a target finds, or the refusal.
fn found(text: &str, target: &str) -> Result<usize, String> {
    outline(text).find(text, target).map(|section| section.line).map_err(|error| error.to_string())
}

#[track_caller]
fn finds(target: &str, line: usize) {
    assert_eq!(found(DOCUMENT, target), Ok(line), "target {target:?}");
}

#[track_caller]
fn refuses(text: &str, target: &str, message: &str) {
    assert_eq!(found(text, target), Err(message.to_owned()), "target {target:?}");
}

#[test]
fn a_target_finds_a_line_as_written() {
    finds("## Scope", 2);
    finds("  ##   Scope ##  ", 2);
    finds("## Scope\r\n", 2);
    finds("### **Bold** text", 3);
    finds("### **Bold** text ###", 3);
    finds("### Log", 5);
    finds("## a # b", 14);
}

#[test]
fn a_target_finds_a_text() {
    finds("Scope", 2);
    finds("Bold text", 3);
    finds("**Bold** text", 3);
    finds("Setext title", 7);
    finds("Two lines", 9);
    finds("Two\r\n  lines\n", 9);
    finds("scope-2", 13);
}

#[test]
fn a_target_finds_a_slug() {
    finds("#scope", 2);
    finds("scope", 2);
    finds("bold-text", 3);
    finds("#log", 4);
    finds("#log-1", 5);
    finds("log-2", 6);
    finds("setext-title", 7);
    finds("#tags--co", 15);
}

#[test]
fn a_target_finds_an_id() {
    let text = "# Guide\n## First steps {#setup}\n## Setup {#install}\n";
    for target in ["First steps", "## First steps", "## First steps {#setup}", "#setup", "first-steps-setup"]
    {
        assert_eq!(found(text, target), Ok(2), "target {target:?}");
    }
    for target in ["Setup", "setup", "#install", "install", "## Setup ##"] {
        assert_eq!(found(text, target), Ok(3), "target {target:?}");
    }
    assert!(found(text, "# Setup").is_err());
}

#[test]
fn a_target_finds_a_heading_that_looks_the_same() {
    let (composed, decomposed) = ("## R\u{e9}sum\u{e9}", "## Re\u{301}sume\u{301}");
    for (written, target) in [(composed, decomposed), (decomposed, composed)] {
        for target in [target, &target[3..], &format!("#{}", target[3..].to_lowercase())] {
            assert_eq!(found(&format!("# A\n{written}\n"), target), Ok(2), "target {target:?}");
        }
    }
    let both = format!("{composed}\n{decomposed}\n");
    assert_eq!(found(&both, decomposed), Ok(2));
    assert_eq!(found(&both, composed), Ok(1));
}

#[test]
fn a_target_refuses_two_matching_headings() {
    refuses(
        DOCUMENT,
        "## Log",
        r####"section "## Log" names 2 headings; say which by its slug: "## Log" (line 4, #log) or "## Log" (line 6, #log-2)"####,
    );
    refuses(
        DOCUMENT,
        "Log",
        r####"section "Log" names 3 headings; say which by its slug: "## Log" (line 4, #log) or "### Log" (line 5, #log-1) or "## Log" (line 6, #log-2)"####,
    );
    // The same in lower case, which is also the slug of the first.
    refuses(
        DOCUMENT,
        "log",
        r####"section "log" names 3 headings; say which by its slug: "## Log" (line 4, #log) or "### Log" (line 5, #log-1) or "## Log" (line 6, #log-2)"####,
    );
    refuses(
        "A\n===\n# A\n",
        "A",
        r##"section "A" names 2 headings; say which by its slug: "A" (line 1, #a) or "# A" (line 3, #a-1)"##,
    );
    let many = "# A\n".repeat(12);
    let message = found(&many, "# A").unwrap_err();
    assert!(message.ends_with(r##""# A" (line 10, #a-9) or 2 more"##), "{message}");
}

#[test]
fn a_refusal_suggests_similar_headings() {
    refuses(
        DOCUMENT,
        "## Scop",
        r####"section "## Scop" not found; did you mean "## Scope" (line 2, #scope) or "## scope-2" (line 13, #scope-2)?"####,
    );
    refuses(
        DOCUMENT,
        "# Scope!",
        r####"section "# Scope!" not found; did you mean "## Scope" (line 2, #scope) or "## scope-2" (line 13, #scope-2)?"####,
    );
    refuses(
        DOCUMENT,
        "setext",
        r#"section "setext" not found; did you mean "Setext title" (line 7, #setext-title)?"#,
    );
    refuses(
        DOCUMENT,
        "## Quoted",
        r####"section "## Quoted" not found; the headings are "# Plan" (line 1, #plan), "## Scope" (line 2, #scope), "### **Bold** text ###" (line 3, #bold-text), "## Log" (line 4, #log), "### Log" (line 5, #log-1), "## Log" (line 6, #log-2), "Setext title" (line 7, #setext-title), "Two lines" (line 9, #two-lines), "## scope-2" (line 13, #scope-2), "## a # b" (line 14, #a--b) and 1 more"####,
    );
    refuses(
        DOCUMENT,
        "something else",
        r####"section "something else" not found; the headings are "# Plan" (line 1, #plan), "## Scope" (line 2, #scope), "### **Bold** text ###" (line 3, #bold-text), "## Log" (line 4, #log), "### Log" (line 5, #log-1), "## Log" (line 6, #log-2), "Setext title" (line 7, #setext-title), "Two lines" (line 9, #two-lines), "## scope-2" (line 13, #scope-2), "## a # b" (line 14, #a--b) and 1 more"####,
    );
    refuses("", "# A", r##"section "# A" not found; the document has no headings"##);
    refuses(
        DOCUMENT,
        " \r\n",
        r#"section " \r\n" not found; name a heading by its line, its text or its slug"#,
    );
    refuses(DOCUMENT, "", r#"section "" not found; name a heading by its line, its text or its slug"#);
}

#[test]
fn a_refusal_suggests_at_most_five_headings_in_order_of_similarity() {
    let text = "# aaaa1\n# aaaa22\n# aaaa\n# aaaa3\n# aaaa4\n# aaaa5\n# aaaa6\n";
    let Err(TargetError::NotFound { nearest, .. }) = outline(text).find(text, "# aaaaa") else {
        panic!("no heading is named so");
    };
    let headings: Vec<_> = nearest.iter().map(|candidate| candidate.heading.as_str()).collect();
    assert_eq!(headings, ["# aaaa1", "# aaaa", "# aaaa3", "# aaaa4", "# aaaa5"]);
}

#[test]
fn messages_have_one_line_and_escape_invisible_characters() {
    refuses(
        "# A\u{202e}B\u{200b}C\n",
        "# AB\nC\u{1b}",
        r##"section "# AB\nC\u{1b}" not found; did you mean "# A\u{202e}B\u{200b}C" (line 1, #abc)?"##,
    );
    refuses(
        "",
        &"x".repeat(200),
        &format!(r#"section "{}…" not found; the document has no headings"#, "x".repeat(120)),
    );
}
