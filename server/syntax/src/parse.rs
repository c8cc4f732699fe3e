//! Parsing, with a bound.

use std::{
    ops::ControlFlow,
    time::{Duration, Instant},
};

use tree_sitter::{ParseOptions, Parser, Tree};

use crate::Language;

/// Maximum time of parsing a file.
const LIMIT: Duration = Duration::from_secs(5);

/// Returns the tree of a source text; `None` if it takes longer than handwritten sources do. Sources with syntax errors have a tree, too.
pub fn parse(language: Language, source: &str) -> Option<Tree> {
    let mut parser = Parser::new();
    parser.set_language(&language.grammar()).expect("the grammars are made for this version of tree-sitter");
    let begun = Instant::now();
    let mut late = |_: &_| {
        if begun.elapsed() > LIMIT {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    };
    let bytes = source.as_bytes();
    parser.parse_with_options(
        &mut |at, _| &bytes[at.min(bytes.len())..],
        None,
        Some(ParseOptions::new().progress_callback(&mut late)),
    )
}
