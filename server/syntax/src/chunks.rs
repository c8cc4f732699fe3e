//! Cutting a file into chunks.
//!
//! A chunk is a range of whole lines of at most [`MAX_BYTES`] bytes; only a longer line is cut. Adjacent items share a chunk while they
//! fit; one that does not fit is cut between its own parts. Comments and attributes before an item stay with it.

use std::ops::{Range, RangeInclusive};

use tree_sitter::{Node, Tree};

use crate::{
    Language, Symbol, SymbolKind, keywords,
    language::Role,
    lines::Lines,
    pages::{is_page, program},
    parse, symbols,
    text::{self, Piece},
};

/// Maximum bytes of a chunk: about 400 tokens, which embedding models read, and half a screen for a reader.
pub const MAX_BYTES: usize = 1600;
/// Maximum depth at which an item is cut. Below, and in long strings and comments, chunks are as many lines as fit.
const DEEPEST: usize = 64;

/// A file, cut.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outline {
    /// Its chunks, in order. Their bytes are the file's, each once.
    pub chunks: Vec<Chunk>,
    /// Its symbols, in order.
    pub symbols: Vec<Symbol>,
}

/// A part of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// Its bytes.
    pub bytes: Range<usize>,
    /// Its lines, from 1.
    pub lines: RangeInclusive<usize>,
    /// The symbol that it is about, a number of [`Outline::symbols`]: the largest that is whole in it, else the innermost that it is a
    /// part of; a constant only if there is no other.
    pub symbol: Option<usize>,
    /// The symbols that begin in it, numbers of [`Outline::symbols`].
    pub defines: Range<usize>,
}

/// Cuts a file. Files of no known language are cut at blank lines, Markdown at its headings.
pub fn outline(path: &str, source: &str) -> Outline {
    let lines = Lines::new(source);
    let parsed = program(path, source).and_then(|(language, text)| Some((language, parse(language, &text)?)));
    let (mut symbols, pieces) = match &parsed {
        Some((language, tree)) if is_page(path) => {
            (symbols(*language, tree, source), text::paragraphs(&lines))
        }
        Some((language, tree)) => (symbols(*language, tree, source), pieces_of_tree(*language, tree, &lines)),
        None if text::is_markdown(path) => text::sections(&lines),
        None => (keywords::symbols(path, source, &lines), text::paragraphs(&lines)),
    };
    if let Some((language, _)) = parsed {
        keywords::add_lost(language, source, &lines, &mut symbols);
    }
    let chunks = packed(&pieces, &lines)
        .into_iter()
        .flat_map(|chunk| cut_long(source, lines.bytes(chunk)))
        .map(|bytes| described(bytes, &lines, &symbols))
        .collect();
    Outline { chunks, symbols }
}

/// Joins pieces while they fit, and cuts those that don't.
fn packed(pieces: &[Piece], lines: &Lines<'_>) -> Vec<Range<usize>> {
    let mut chunks: Vec<Range<usize>> = vec![];
    let mut open = false;
    for piece in pieces {
        if lines.bytes(piece.lines.clone()).len() > MAX_BYTES {
            for line in piece.lines.clone() {
                join(&mut chunks, line..line + 1, lines, line > piece.lines.start);
            }
            open = false;
            continue;
        }
        join(&mut chunks, piece.lines.clone(), lines, open && !piece.apart);
        open = true;
    }
    chunks
}

/// Adds lines to the last chunk if they may and fit, else as a new one.
fn join(chunks: &mut Vec<Range<usize>>, more: Range<usize>, lines: &Lines<'_>, may: bool) {
    match chunks.last_mut() {
        Some(last) if may && lines.bytes(last.start..more.end).len() <= MAX_BYTES => last.end = more.end,
        _ => chunks.push(more),
    }
}

/// Cuts a line that is longer than a chunk, between characters.
fn cut_long(source: &str, bytes: Range<usize>) -> Vec<Range<usize>> {
    let mut parts = vec![];
    let mut start = bytes.start;
    while bytes.end - start > MAX_BYTES {
        let end = source.floor_char_boundary(start + MAX_BYTES);
        parts.push(start..end);
        start = end;
    }
    parts.push(start..bytes.end);
    parts
}

/// Makes a chunk, with its lines and symbols.
fn described(bytes: Range<usize>, lines: &Lines<'_>, symbols: &[Symbol]) -> Chunk {
    let first = symbols.partition_point(|symbol| symbol.bytes.start < bytes.start);
    let behind = symbols.partition_point(|symbol| symbol.bytes.start < bytes.end);
    // A constant or a file's package is the chunk's symbol only if there is no other.
    let is_minor = |at: &usize| match symbols[*at].kind {
        SymbolKind::Constant => true,
        SymbolKind::Module => !symbols[*at].has_body,
        _ => false,
    };
    let largest = |minor: bool| {
        let whole = |at: &usize| symbols[*at].bytes.end <= bytes.end && is_minor(at) == minor;
        (first..behind).filter(whole).max_by_key(|at| (symbols[*at].bytes.len(), usize::MAX - at))
    };
    let symbol = largest(false)
        .or_else(|| (first..behind).find(|at| !is_minor(at)))
        .or_else(|| (0..first).rev().find(|at| symbols[*at].bytes.end > bytes.start))
        .or_else(|| largest(true))
        .or_else(|| (first < behind).then_some(first));
    Chunk {
        lines: lines.line_at(bytes.start) + 1..=lines.line_at(bytes.end - 1) + 1,
        symbol,
        defines: first..behind,
        bytes,
    }
}

/// Returns the pieces of a parsed file.
fn pieces_of_tree(language: Language, tree: &Tree, lines: &Lines<'_>) -> Vec<Piece> {
    let mut pieces = vec![];
    let all = 0..lines.count();
    if lines.bytes(all.clone()).len() <= MAX_BYTES {
        pieces.extend((!all.is_empty()).then_some(Piece { lines: all, apart: false }));
    } else {
        cut(language, tree.root_node(), all, lines, 0, false, &mut pieces);
    }
    pieces
}

/// Cuts the lines of a node between its children. `is_headed` is true if only a definition's signature precedes the node.
fn cut(
    language: Language,
    node: Node<'_>,
    within: Range<usize>,
    lines: &Lines<'_>,
    depth: usize,
    is_headed: bool,
    pieces: &mut Vec<Piece>,
) {
    let leading = language.facts().leading;
    let is_definition = |node: Node<'_>| matches!(language.role(node.kind_id()), Some(Role::Defines(..)));
    let is_headed = is_headed || is_definition(node);
    let mut cursor = node.walk();
    // First lines of the pieces, each with its largest node.
    let mut cuts: Vec<(usize, Node<'_>)> = vec![];
    let mut waiting: Option<usize> = None;
    for child in node.children(&mut cursor) {
        let line = child.start_position().row;
        let trails = cuts.last().is_some_and(|(_, before)| before.end_position().row >= line);
        if leading.contains(&child.kind()) && !trails {
            // A comment after a blank line begins a new group.
            waiting = waiting.filter(|first| *first < line && !has_blank(lines, *first..line)).or(Some(line));
            continue;
        }
        let start = waiting.take().unwrap_or(line).max(within.start);
        match cuts.last_mut() {
            Some((last, of)) if start <= *last || trails => {
                *of = larger(*of, child);
            }
            _ if start < within.end => cuts.push((start, child)),
            _ => {}
        }
    }
    if let Some(first) = cuts.first_mut() {
        first.0 = within.start;
    }
    // Items after a large one do not share its last part.
    let mut apart = false;
    for (at, (start, child)) in cuts.iter().enumerate() {
        let end = cuts.get(at + 1).map_or(within.end, |next| next.0);
        let own = *start..end;
        let fits = lines.bytes(own.clone()).len() <= MAX_BYTES;
        if fits || depth == DEEPEST || child.child_count() == 0 {
            pieces.push(Piece { lines: own, apart });
            apart = false;
            continue;
        }
        // A body shares a chunk with its signature.
        let is_headed = is_headed && at <= 1 && !is_definition(*child);
        let first = pieces.len();
        cut(language, *child, own, lines, depth + 1, is_headed, pieces);
        if let Some(piece) = pieces.get_mut(first).filter(|_| !is_headed) {
            piece.apart = true;
        }
        apart = true;
    }
    if cuts.is_empty() && !within.is_empty() {
        pieces.push(Piece { lines: within, apart: false });
    }
}

fn larger<'t>(a: Node<'t>, b: Node<'t>) -> Node<'t> {
    if b.byte_range().len() > a.byte_range().len() { b } else { a }
}

fn has_blank(lines: &Lines<'_>, mut range: Range<usize>) -> bool {
    range.any(|line| lines.text(line).trim().is_empty())
}

impl Outline {
    /// Returns the symbol that a chunk is about.
    pub fn about(&self, chunk: &Chunk) -> Option<&Symbol> {
        chunk.symbol.map(|at| &self.symbols[at])
    }

    /// Returns the innermost symbol, constants left out, that contains a line, from 1.
    pub fn at_line(&self, line: usize) -> Option<&Symbol> {
        self.symbols
            .iter()
            .filter(|symbol| symbol.lines.contains(&line) && symbol.kind != SymbolKind::Constant)
            .min_by_key(|symbol| symbol.bytes.len())
    }
}
