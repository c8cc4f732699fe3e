//! Inputs for which naive parsers, slugs or diffs take quadratic time. There are no timings: quadratic work on 200 KB would keep
//! the tests from ending.

use super::super::{Edit, Flavor, Outline, plan, preview};

const LENGTH: usize = 200_000;

fn repeated(part: &str) -> String {
    part.repeat(LENGTH / part.len())
}

/// Parses a text in both flavors, searches for a heading that it lacks, and plans and previews an edit that appends the
/// text to itself.
fn exercise(text: &str) {
    let outlines = [Flavor::CommonMark, Flavor::Mdx].map(|flavor| Outline::parse(text, flavor));
    let found = outlines[0].find(text, &format!("# no {text}"));
    assert!(found.is_err(), "a text holds no heading that is longer than itself");
    let target = outlines[0].sections().last().map(|section| format!("#{}", section.slug));
    let edit = match &target {
        Some(target) => Edit::ReplaceSection { target, content: text },
        None => Edit::Append { content: text },
    };
    if let Ok(plan) = plan(text, Flavor::CommonMark, &edit) {
        preview("a.md", text, &edit, &plan);
    }
}

#[test]
fn repeated_marks_take_linear_time() {
    for part in [
        "#",
        "# ",
        "#\n",
        "[",
        "[a](",
        "![",
        "*",
        "*a _b ",
        "`",
        "``a`",
        "- - - ",
        "- ",
        "> ",
        ">\n",
        "\n",
        "\r",
        "\r\n",
        "<",
        "<a ",
        "<a\n",
        "<!--",
        "<?",
        "&",
        "|",
        "|a\n|-\n",
        "a|b\n-|-\n",
        "---\n",
        "===\n",
        "```\n",
        "~~~ a\n",
        "[a]: b\n",
        "[^a]: ",
        "\\",
        "\t",
        "1. ",
        "import a\n",
        "export \n\n",
        "export {\n\n}\n",
        "{",
        "{\n",
        "{\n\n}\n",
        "~~a",
        "a\n- ",
        "\u{feff}",
        "🎉",
        "- [ ] a\n  ",
        "<div>\n",
        "\0",
    ] {
        exercise(&repeated(part));
    }
}

#[test]
fn many_headings_take_linear_time() {
    for part in ["# a\n", "a\n=\n", "# a-1\n# a\n", "# !\n", "# a\n###### b\n", "> # a\n\n# a\n"] {
        exercise(&repeated(part));
    }
    exercise(&(0..20_000).map(|n| format!("# a-{n}\n# a\n")).collect::<String>());
    exercise(&(1..600).map(|n| format!("{}\n", "`".repeat(n))).collect::<String>());
    exercise(&(0..500).map(|n| format!("{}- a\n", "  ".repeat(n))).collect::<String>());
    exercise(&format!("# {}\n", "x".repeat(LENGTH)));
    exercise(&format!("export {{{}}}\n", "\n".repeat(LENGTH)));
    exercise(&(0..6_000).map(|n| format!("## {} {n}\n", "long heading ".repeat(2))).collect::<String>());
}
