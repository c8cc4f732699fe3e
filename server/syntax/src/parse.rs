//! Parsing, with a bound.

use std::{
    ops::ControlFlow,
    time::{Duration, Instant},
};

use tree_sitter::{ParseOptions, Parser, Tree};

use crate::{Language, macros::without_macros};

/// Maximum time of parsing a file.
const LIMIT: Duration = Duration::from_secs(5);

/// Returns the tree of a source text; `None` if it takes longer than handwritten sources do. Sources with syntax errors have a tree, too.
pub fn parse(language: Language, source: &str) -> Option<Tree> {
    let is_c = matches!(language, Language::C | Language::Cpp);
    let tree = if is_c {
        parse_bytes(language, &without_macros(source))?
    } else {
        parse_bytes(language, source.as_bytes())?
    };
    if language.name() == "kotlin" && tree.root_node().has_error() {
        let repaired = parse_bytes(language, &with_separators(source))?;
        return Some(if repaired.root_node().has_error() { tree } else { repaired });
    }
    Some(tree)
}

/// Returns a Kotlin source, as long as before, with a semicolon for the blank in `{ fun a() = 1 }`: the grammar wants one after each member,
/// and loses the rest of the file.
fn with_separators(source: &str) -> Vec<u8> {
    let mut bytes = source.as_bytes().to_vec();
    for at in 1..bytes.len().saturating_sub(1) {
        let before = bytes[at - 1];
        if bytes[at..].starts_with(b" }") && !before.is_ascii_whitespace() && !b"{;,".contains(&before) {
            bytes[at] = b';';
        }
    }
    bytes
}

fn parse_bytes(language: Language, bytes: &[u8]) -> Option<Tree> {
    let mut parser = Parser::new();
    parser.set_language(&language.grammar()).expect("the grammars are made for this version of tree-sitter");
    let begun = Instant::now();
    let mut late = |_: &_| {
        if begun.elapsed() > LIMIT {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    };
    parser.parse_with_options(
        &mut |at, _| &bytes[at.min(bytes.len())..],
        None,
        Some(ParseOptions::new().progress_callback(&mut late)),
    )
}
