//! Facts about chunks and their symbols, as they are stored and shown.

use serde::{Deserialize, Serialize};
use tabellion_syntax::{Chunk, Outline, Symbol};

/// Prefix of the path of a commit's message.
const COMMIT: &str = "commit:";
/// The kind of a chunk of a commit's message.
pub(crate) const COMMIT_KIND: &str = "commit";
/// The kind of a chunk about no symbol, and the language of a file in none that is known.
pub(crate) const TEXT: &str = "text";

/// Returns the path of a commit's message, as an entry of a tree. Its chunks are of the kind `commit`.
pub fn commit_path(id: &str) -> String {
    format!("{COMMIT}{id}")
}

/// Returns true if a path is that of a commit's message.
fn is_commit(path: &str) -> bool {
    let id = path.strip_prefix(COMMIT).unwrap_or_default();
    id.len() == 40 && id.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns the kind of a chunk that is about `symbol`.
pub(crate) fn kind(path: &str, symbol: Option<&Symbol>) -> &'static str {
    match symbol {
        Some(symbol) => symbol.kind.word(),
        None if is_commit(path) => COMMIT_KIND,
        None => TEXT,
    }
}

/// Facts about a chunk that a hit shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ChunkFacts {
    /// Length in bytes: chunks follow one another.
    pub(crate) bytes: u32,
    pub(crate) start_line: u32,
    pub(crate) end_line: u32,
    /// The kind of its symbol.
    pub(crate) kind: String,
    /// The symbols that begin in it, and the one that it is about; and the number of the latter.
    pub(crate) symbols: Vec<SymbolFacts>,
    pub(crate) about: Option<usize>,
}

impl ChunkFacts {
    pub(crate) fn new(path: &str, outline: &Outline, chunk: &Chunk) -> Self {
        let (start, end) = (*chunk.lines.start(), *chunk.lines.end());
        let facts = |symbol: &Symbol| SymbolFacts {
            name: symbol.name.clone(),
            path: symbol.path.clone(),
            kind: symbol.kind.word().to_owned(),
            start_line: symbol.begins.max(start) as u32,
            end_line: (*symbol.lines.end()).min(end) as u32,
            has_body: symbol.has_body,
        };
        let before = chunk.symbol.filter(|at| !chunk.defines.contains(at));
        let all = before.into_iter().chain(chunk.defines.clone());
        Self {
            bytes: chunk.bytes.len() as u32,
            start_line: start as u32,
            end_line: end as u32,
            kind: kind(path, outline.about(chunk)).to_owned(),
            symbols: all.map(|at| facts(&outline.symbols[at])).collect(),
            about: chunk.symbol.map(|at| at.saturating_sub(chunk.defines.start)),
        }
    }

    /// Returns the symbol that the chunk is about.
    pub(crate) fn about(&self) -> Option<&SymbolFacts> {
        self.symbols.get(self.about?)
    }
}

/// A symbol of a chunk. There are several times as many as chunks; to save space they are stored as [`Row`]s.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Row", into = "Row")]
pub(crate) struct SymbolFacts {
    pub(crate) name: String,
    pub(crate) path: String,
    pub(crate) kind: String,
    /// Its lines in the chunk, with the comments before it.
    pub(crate) start_line: u32,
    pub(crate) end_line: u32,
    /// True if it is defined here, not only declared.
    pub(crate) has_body: bool,
}

/// First and last line, from 1.
pub(crate) type Lines = (u32, u32);

impl SymbolFacts {
    pub(crate) fn lines(&self) -> Lines {
        (self.start_line, self.end_line)
    }

    /// Returns true if both are functions or methods of one name.
    pub(crate) fn is_overload(&self, other: &Self) -> bool {
        let is_code = |symbol: &Self| matches!(&*symbol.kind, "function" | "method");
        self.name == other.name && is_code(self) && is_code(other)
    }
}

/// Name (empty if it is the path's last word), path, kind, lines, and true if it has a body.
type Row = (String, String, String, u32, u32, bool);

impl From<Row> for SymbolFacts {
    fn from((name, path, kind, start_line, end_line, has_body): Row) -> Self {
        let name = if name.is_empty() { last_word(&path).to_owned() } else { name };
        Self { name, path, kind, start_line, end_line, has_body }
    }
}

impl From<SymbolFacts> for Row {
    fn from(facts: SymbolFacts) -> Self {
        let name = if last_word(&facts.path) == facts.name { String::new() } else { facts.name };
        (name, facts.path, facts.kind, facts.start_line, facts.end_line, facts.has_body)
    }
}

fn last_word(path: &str) -> &str {
    path.rsplit(' ').next().unwrap_or(path)
}
