//! Outlines: headings, and the bounds of sections.

use super::super::{Section, front_matter};
use super::{Flavor, Outline, outline};

/// Formats an outline as one line for each section: its level, line, slug, and the bytes of its heading.
fn shown(text: &str, flavor: Flavor) -> Vec<String> {
    let outline = Outline::parse(text, flavor);
    let shown = |s: &Section| {
        let heading = text[s.heading.clone()].escape_debug();
        format!("{} {} #{} `{heading}`", s.level, s.line, s.slug)
    };
    outline.sections().iter().map(shown).collect()
}

#[track_caller]
fn check(text: &str, headings: &[&str]) {
    assert_eq!(shown(text, Flavor::CommonMark), headings, "headings of {text:?}");
}

#[track_caller]
fn check_mdx(text: &str, headings: &[&str]) {
    assert_eq!(shown(text, Flavor::Mdx), headings, "headings of {text:?}");
}

#[test]
fn headings_are_whole_lines() {
    check("# A\ntext\n## B ##  \n", &[r"1 1 #a `# A\n`", r"2 3 #b `## B ##  \n`"]);
    check("   # A\r\n\r\nB\r\n---\r\n", &[r"1 1 #a `   # A\r\n`", r"2 3 #b `B\r\n---\r\n`"]);
    check("B\nC\n===", &[r"1 1 #b-c `B\nC\n===`"]);
    check("\u{feff}# A", &[r"1 1 #a `# A`"]);
    check("#\n######\n#######\n", &[r"1 1 # `#\n`", r"6 2 #-1 `######\n`"]);
}

#[test]
fn lone_carriage_returns_end_lines() {
    check("# A\rtext\r## B\r", &[r"1 1 #a `# A\r`", r"2 3 #b `## B\r`"]);
    check("A\r=\r\n# B\n", &[r"1 1 #a `A\r=\r\n`", r"1 3 #b `# B\n`"]);
    check("---\rx: y\r---\r# A\r", &[r"1 4 #a `# A\r`"]);
}

#[test]
fn the_outline_ignores_text_that_only_looks_like_a_heading() {
    check("```\n# no\n```\n\n    # no\n\n<!--\n# no\n-->\n\n#no\n\n\\# no\n", &[]);
    check("| # no |\n|---|\n| ## no |\n", &[]);
    check("~~~\n# no\n\n# no\n", &[]);
    check("---\n# no\n---\n# yes\n", &[r"1 4 #yes `# yes\n`"]);
    check("+++\n# no\n+++", &[]);
    check("<div>\n\n# yes\n</div>\n", &[r"1 3 #yes `# yes\n`"]);
}

#[test]
fn nested_headings_count_for_slugs_only() {
    check("> # A\n\n- # A\n\n[^1]: # A\n\n# A\n", &[r"1 7 #a-3 `# A\n`"]);
}

#[test]
fn heading_text_has_no_markup() {
    let text = "# **Bold** `co_de` [link](x) ![image](y) <b>raw</b> a\\_b &amp; ~~c~~ [^n]\n\n[^n]: note\n";
    assert_eq!(outline(text).sections()[0].text, "Bold co_de link  raw a_b & c ");
}

#[test]
fn sections_nest_by_level() {
    let text = "intro\n# A\na\n### B\nb\n## C\nc\n# D\nd\n";
    let outline = outline(text);
    let nested: Vec<_> = outline
        .sections()
        .iter()
        .map(|s| (s.text.as_str(), s.parent, &text[s.heading.end..s.body_end], &text[s.heading.start..s.end]))
        .collect();
    assert_eq!(
        nested,
        [
            ("A", None, "a\n", "# A\na\n### B\nb\n## C\nc\n"),
            ("B", Some(0), "b\n", "### B\nb\n"),
            ("C", Some(0), "c\n", "## C\nc\n"),
            ("D", None, "d\n", "# D\nd\n"),
        ]
    );
}

#[test]
fn front_matter_opens_the_file_and_closes_with_its_own_fence() {
    for (text, front) in [
        ("---\na: b\n---\n# A\n", "---\na: b\n---\n"),
        ("\u{feff}---\r\na: b\r\n--- \r\n# A\r\n", "---\r\na: b\r\n--- \r\n"),
        ("+++\na = 1\n+++", "+++\na = 1\n+++"),
        ("---\n---\n", "---\n---\n"),
        ("---\na: b\n+++\n", ""),
        ("---\na: b\n", ""),
        ("---\na: b\n----\n--- c\n", ""),
        ("\n---\na: b\n---\n", ""),
        ("----\na\n----\n", ""),
        ("", ""),
    ] {
        assert_eq!(&text[front_matter::find(text)], front, "front matter of {text:?}");
    }
}

#[test]
fn mdx_masks_statements_tags_expressions_and_fences() {
    let yes = [r"1 3 #yes `# yes\n`"];
    check_mdx("import a from 'a'\n\n# yes\n", &yes);
    check_mdx("export const a = `\n# no\n`\n\n", &[]);
    check_mdx("<Tab\n  title=\"# x\">\n# yes\n</Tab>\n", &yes);
    check_mdx("<Tab>\n</Tab>\n# yes\n", &yes);
    check_mdx("<Tab>\n    ```md\n# no\n    ```\n</Tab>\n", &[]);
    check_mdx("1. ```md\n   ```\n# yes\n", &yes);
    check_mdx("text\nexport this\n# yes\n", &yes);
    check_mdx("a < b\n<https://a.b>\n# yes\n", &yes);
    check_mdx("<https://a.b>\n---\n", &[r"2 1 #httpsab `<https://a.b>\n---\n`"]);
    check_mdx("<b is never closed\n\n# yes\n", &yes);
    check_mdx("````\n```\n# no\n````\n", &[]);
    for hidden in [
        "{/*\n# no\n\n# no {\n*/}",
        "{\n/*\n# no\n*/\n}",
        "{`\n# no\n\n`}",
        "{items.map(item => (\n\n# no\n\n))}",
        "export const a = `\n# no\n\n# no\n`",
        "export const a = () => {\n  return '}'; // }\n\n# no\n}",
    ] {
        check_mdx(
            &format!("{hidden}\n\n# yes\n"),
            &[&format!(r"1 {} #yes `# yes\n`", hidden.matches('\n').count() + 3)],
        );
    }
    check_mdx("{a}\n# yes\n", &[r"1 2 #yes `# yes\n`"]);
    for open in ["{/* never closed", "{a", "export const a = `", "text {"] {
        check_mdx(&format!("{open}\n\n# yes\n"), &yes);
    }
    check_mdx("*/ }\n\n# yes\n{/* never closed\n", &yes);
}

#[test]
fn the_extension_selects_the_flavor() {
    for (path, flavor) in [
        ("a.mdx", Flavor::Mdx),
        ("a/b.MDX", Flavor::Mdx),
        ("a.md", Flavor::CommonMark),
        ("mdx", Flavor::CommonMark),
        ("a.mdx.md", Flavor::CommonMark),
    ] {
        assert_eq!(Flavor::of_path(path), flavor, "{path}");
    }
}
