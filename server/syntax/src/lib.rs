//! Source files, cut into chunks and symbols with tree-sitter.
//!
//! [`outline`] cuts a file into [`Chunk`]s, which concatenate to the file, and lists its [`Symbol`]s. Files of no known language are cut by
//! paragraphs, Markdown by sections. [`parse`] and [`Language::grammar`] give access to the tree for other queries.
//!
//! | module | does |
//! |---|---|
//! | `language` | the languages as data: extensions, grammars, nodes that are definitions |
//! | `parse` | parsing, with a bound |
//! | `symbols` | the symbols of a file |
//! | `macros`, `pages` | what a source has for its parser: macros of C as blanks, scripts of pages alone |
//! | `keywords` | the symbols of a file in a language without a grammar here, and those that a grammar misses |
//! | `chunks` | cutting a parsed file, and packing pieces into chunks |
//! | `text` | cutting texts and Markdown |
//! | `lines` | lines of a text |

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests open what they have made"))]

mod chunks;
mod keywords;
mod language;
mod lines;
mod macros;
mod pages;
mod parse;
mod symbol_kind;
mod symbols;
#[cfg(test)]
mod tests;
mod text;

pub use tree_sitter;

pub use self::{
    chunks::{Chunk, MAX_BYTES, Outline, outline},
    keywords::{is_definition_word, language_name, language_names, source_language},
    language::Language,
    pages::{is_page, may_be_program, program, readable},
    parse::parse,
    symbol_kind::SymbolKind,
    symbols::{Symbol, symbols},
};
