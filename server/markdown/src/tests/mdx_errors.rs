//! Reasons why a text is not valid MDX, and texts that would take the parser too long.

use super::super::mdx_error;

#[test]
fn the_first_error_is_reported_with_its_line() {
    for (text, line) in [
        ("", None),
        ("# A\n\n<Tab title=\"x\">\n\ntext {1 + 1}\n\n</Tab>\n", None),
        ("import a from 'a'\n\nexport const b = 1\n\n<a.B />\n", None),
        ("```\n<Tab>\n{\n```\n", None),
        ("# A\n\ntext {open\n", Some(3)),
        ("# A\n\n</Tab>\n", Some(3)),
        ("---\na: {\n---\n\n<Tab>\n", Some(6)),
        ("\u{feff}---\r\na: b\r\n---\r\n\r\n\r\na <b <c\r\n", Some(6)),
        ("a\r\r<!-- b -->\r", Some(3)),
        ("<https://a.b>\n", Some(1)),
    ] {
        let error = mdx_error(text);
        assert_eq!(error.as_ref().map(|it| it.line), line, "{text:?}: {error:?}");
        if let Some(error) = error {
            let shown = error.to_string();
            assert!(shown.starts_with(&format!("line {}: not valid MDX: ", error.line)), "{shown}");
            assert_eq!(shown.lines().count(), 1, "{shown}");
        }
    }
}

/// Beyond the limits there is no result, and within them the parser ends: quadratic work on these would keep the test from ending.
#[test]
fn large_and_deep_texts_are_not_checked() {
    for part in [
        "[", "![", "*a_ ", "> ", ">", "- ", "1. ", "\n", "\r", "#\n", "a\n=\n", "<a ", "<a>", "{", "`",
        "  - a\n", "a\n\n",
    ] {
        for bytes in [16_000, 400_000] {
            let text = part.repeat(bytes / part.len());
            mdx_error(&format!("{text}\n\n{{"));
        }
    }
    assert!(mdx_error("---\na: b\n---\n<Tab>\n").unwrap().reason.contains("`<Tab>` (4:1)"));
    let invalid = "{\n";
    assert!(mdx_error(invalid).is_some());
    for (name, padding) in
        [("lines", "\n".repeat(20_000)), ("bytes", "a".repeat(600_000)), ("quotes", ">".repeat(60))]
    {
        assert_eq!(mdx_error(&format!("{padding}\n\n{invalid}")), None, "{name}");
    }
}

/// Texts on which `markdown` 1.0.0 panics: a tag, followed by a line that could underline it as a heading.
#[test]
fn texts_that_the_parser_panics_on_are_not_checked() {
    for text in ["<a>~~\n-", ":<>\n-\n", "{*/}[^![x](y)\n\n:<>\n-\n"] {
        assert_eq!(mdx_error(text), None, "{text:?}");
    }
}
