//! Metrics against numbers that were computed by hand or by published tools: `testdata/metrics/`.

use tabellion_syntax::Language;

use super::data;
use crate::{
    check::{Source, measure},
    flat::FlatTree,
    grammar::Grammar,
    halstead,
    metrics::{FileMetrics, maintainability},
};

fn metrics(language: Language, text: &str) -> FileMetrics {
    let source = Source { path: "case", text, language: Some(language), is_test: false };
    measure(&source).expect("parsed").expect("a known language")
}

#[test]
fn metrics_equal_the_table() {
    let mut languages = Vec::new();
    for (name, text) in data("metrics") {
        for block in text.split("\n```").skip(1).step_by(2).zip(text.split("\n```").skip(2).step_by(2)) {
            let (language, code) = block.0.split_once('\n').expect("a language");
            let language = Language::of_name(language).expect("a known language");
            let measured = metrics(language, &format!("{code}\n"));
            let actual: Vec<String> = measured
                .functions
                .iter()
                .map(|f| {
                    let (complexity, size) = ((f.cyclomatic, f.cognitive), (f.sloc, f.parameters, f.nesting));
                    format!("`{}` {} {} {} {} {}", f.name, complexity.0, complexity.1, size.0, size.1, size.2)
                })
                .collect();
            let rows = block.1.lines().filter(|line| line.starts_with("| `"));
            let expected: Vec<String> = rows
                .map(|row| row.split('|').skip(1).take(6).map(str::trim).collect::<Vec<_>>().join(" "))
                .collect();
            assert_eq!(actual, expected, "{name}: {}", language.name());
            assert_eq!(
                measured.cyclomatic,
                measured.functions.iter().map(|function| function.cyclomatic).sum::<u32>()
            );
            assert_eq!(
                measured.cognitive,
                measured.functions.iter().map(|function| function.cognitive).sum::<u32>()
            );
            languages.push(language.name());
        }
    }
    assert_eq!(languages, ["python", "javascript", "typescript", "c", "cpp", "java", "go", "rust"]);
}

/// Operators: `fn ( : -> { +`. Operands: `f a u8 u8 a 1`, four of them distinct. 12 log₂ 10.
#[test]
fn the_volume_is_halsteads() {
    let source = "// words\nfn f(a: u8) -> u8 {\n    a + 1\n}\n";
    let tree = tabellion_syntax::parse(Language::Rust, source).expect("a tree");
    let flat = FlatTree::new(&tree, Grammar::for_language(Language::Rust).expect("a grammar"), source);
    let volume = halstead::volume(&flat, 0);
    assert!((volume - 39.863_137).abs() < 1e-5, "{volume}");
}

/// 171 − 5.2 ln 1000 − 0.23 · 10 − 16.2 ln 100.
#[test]
fn the_maintainability_index_is_clamped() {
    assert!((maintainability(1000.0, 10, 100) - 58.175).abs() < 0.01);
    assert!((maintainability(0.0, 1, 0) - 100.0).abs() < f64::EPSILON);
    assert!(maintainability(1e9, 500, 5000).abs() < f64::EPSILON);
}

#[test]
fn functions_that_could_not_be_parsed_are_left_out() {
    let text = "int f() { return 1; }\n\nint g(int a) {\n  return a +\n#if X\n      1;\n#else\n      )( 2;\n#endif\n}\n\nint h() { return 2; }\n";
    let found = metrics(Language::Cpp, text);
    let names: Vec<_> = found.functions.iter().map(|function| function.name.as_str()).collect();
    assert!(!names.contains(&"g") && names.contains(&"f"), "{names:?}");
    assert!(found.unparsed.is_some_and(|line| (3..=9).contains(&line)), "{:?}", found.unparsed);
    assert_eq!(metrics(Language::Cpp, "int f() { return 1; }\n").unparsed, None);
}
