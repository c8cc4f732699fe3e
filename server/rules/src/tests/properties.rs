//! Rules end without a panic on any file; findings do not depend on the order of files.

use proptest::prelude::*;
use tabellion_syntax::Language;

use super::workspace;
use crate::{
    Selection,
    check::{Source, check, measure},
    grammar::Grammar,
    plan::Plan,
    rule_file, run,
    set::{EMBEDDED, RuleSet},
};

/// Pieces of the languages, in any order: most are not programs, but all nearly are.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "fn f(",
        ")",
        "{",
        "}",
        "if a ",
        "else ",
        "match x ",
        "=> ",
        ", ",
        "; ",
        "&& ",
        "|| ",
        "(",
        "[",
        "]",
        "\n",
        "\n\n",
        "    ",
        "async ",
        "pub ",
        "#[test] ",
        "#[cfg(test)] ",
        "mod m ",
        "impl T ",
        "trait T ",
        "for i in x ",
        "while a ",
        "let x = ",
        ".unwrap()",
        ".expect(\"a\")",
        "// TODO x\n",
        "/* ",
        "*/ ",
        "\"",
        "'",
        "def f():\n",
        "class C:\n",
        "\"\"\"",
        "lambda: ",
        "function f",
        "() => ",
        "export ",
        "switch (a) ",
        "case 1: ",
        "default: ",
        "func f",
        "package p\n",
        "public class A ",
        "#define A ",
        "12345",
        "assert!(true)",
        "é",
        "𝄞",
        "\u{0}",
        "\r\n",
        "\t",
        "::",
        "->",
        "?",
        ":",
        "elif b:\n",
        "except E:\n",
    ]);
    prop::collection::vec(piece, 0..80).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_source_causes_a_panic(text in prop_oneof![pieces(), any::<String>()], which in 0..Language::ALL.len()) {
        let language = Some(Language::ALL[which]);
        let source = Source { path: "src/case", text: &text, language, is_test: false };
        let lines = text.lines().count().max(1);
        for finding in check(&Plan::new(RuleSet::built_in().rules()), &source, &|| false).expect("checked in time") {
            prop_assert!(finding.line >= 1 && finding.line <= lines + 1, "{finding:?}");
            prop_assert!(finding.column >= 1);
        }
        let measured = measure(&source).expect("parsed in time");
        prop_assert_eq!(measured.is_some(), Grammar::for_language(Language::ALL[which]).is_some());
        if let Some(measured) = measured {
            prop_assert!((0.0..=100.0).contains(&measured.maintainability_index));
            prop_assert!(measured.sloc <= lines);
        }
    }

    #[test]
    fn no_rule_file_causes_a_panic(text in any::<String>(), cut in 0_usize..2000, which in 0..EMBEDDED.len(), format in 0..2_usize) {
        let rule: String = EMBEDDED[which].1.chars().take(cut).chain(text.chars()).collect();
        let _ = rule_file::read(["toml", "yml"][format], &rule);
    }
}

#[test]
fn findings_do_not_depend_on_the_order_of_files() {
    let texts = [
        "fn f() {\n    g().unwrap();\n}\n",
        "// TODO one\n",
        "pub fn f() {}\n",
        "// FIXME two\npub struct A;\n",
    ];
    let findings = |names: [&str; 4]| {
        let files: Vec<(&str, &str)> = names.into_iter().zip(texts).collect();
        let folder = workspace(&files);
        let root = folder.path().canonicalize().expect("a folder");
        let report =
            run(&RuleSet::built_in(), &root, &root, &Selection::default(), &|| false).expect("a report");
        let of_text = |name: &str| names.iter().position(|each| *each == name);
        let mut found: Vec<_> =
            report.findings.into_iter().map(|each| (of_text(&each.file), each.line, each.id)).collect();
        found.sort();
        found
    };
    let expected = findings(["a.rs", "b.rs", "c.rs", "d.rs"]);
    assert!(expected.len() >= 4, "{expected:?}");
    assert_eq!(findings(["z.rs", "y.rs", "x.rs", "w.rs"]), expected);
}

#[test]
fn deep_nesting_needs_no_deep_stack() {
    for text in [
        "(".repeat(50_000),
        "{".repeat(50_000),
        "if a {".repeat(20_000),
        "a && ".repeat(50_000),
        "|a| ".repeat(20_000),
    ] {
        let source = Source {
            path: "src/deep.rs",
            text: &format!("fn f() {{ {text}"),
            language: Some(Language::Rust),
            is_test: false,
        };
        // Parsing may reach its time limit; the stack must not overflow.
        let _ = check(&Plan::new(RuleSet::built_in().rules()), &source, &|| false);
    }
}
