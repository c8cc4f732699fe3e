//! Cuts files that are not programs.

use std::{ops::Range, path::Path};

use crate::{Symbol, SymbolKind, lines::Lines};

/// Returns true if a file is Markdown, by its name.
pub(crate) fn is_markdown(path: &str) -> bool {
    let extension = Path::new(path).extension().and_then(|extension| extension.to_str());
    extension
        .is_some_and(|extension| ["md", "mdx", "markdown"].contains(&extension.to_ascii_lowercase().as_str()))
}

/// Some lines, from 0, that are cut no further unless they are too many.
pub(crate) struct Piece {
    pub(crate) lines: Range<usize>,
    /// True if a chunk begins here, even if the piece fits into the one before.
    pub(crate) apart: bool,
}

/// Returns the paragraphs of a text, each with the blank lines behind it.
pub(crate) fn paragraphs(lines: &Lines<'_>) -> Vec<Piece> {
    let blank = |line: usize| lines.text(line).trim().is_empty();
    let begins = (1..lines.count()).filter(|line| blank(line - 1) && !blank(*line));
    pieces(begins.collect(), lines, false)
}

/// Returns the sections of a Markdown text, and a piece for each paragraph. A section begins a chunk.
pub(crate) fn sections(lines: &Lines<'_>) -> (Vec<Symbol>, Vec<Piece>) {
    let headings = headings(lines);
    let mut symbols: Vec<Symbol> = vec![];
    for (at, &(line, level, title)) in headings.iter().enumerate() {
        let end = headings[at + 1..]
            .iter()
            .find(|(_, other, _)| *other <= level)
            .map_or(lines.count(), |(line, ..)| *line);
        let outer = headings[..at].iter().rposition(|(_, other, _)| *other < level);
        let path = match outer {
            Some(outer) => format!("{} > {title}", symbols[outer].path),
            None => title.to_owned(),
        };
        symbols.push(Symbol {
            name: title.to_owned(),
            path,
            kind: SymbolKind::Section,
            lines: line + 1..=end,
            begins: line + 1,
            bytes: lines.bytes(line..end),
            has_body: true,
        });
    }
    let blank = |line: usize| lines.text(line).trim().is_empty();
    let heads: Vec<usize> = headings.iter().map(|(line, ..)| *line).collect();
    let begins = (1..lines.count()).filter(|line| {
        let opens = heads.binary_search(line).is_ok();
        let under = (0..*line).rev().find(|above| !blank(*above));
        // A paragraph right under its heading stays with it.
        let under_heading = under.is_some_and(|above| heads.binary_search(&above).is_ok());
        opens || (blank(line - 1) && !blank(*line) && !under_heading)
    });
    let mut pieces = pieces(begins.collect(), lines, false);
    for piece in &mut pieces {
        piece.apart = heads.binary_search(&piece.lines.start).is_ok();
    }
    (symbols, pieces)
}

/// Returns the lines of ATX headings outside of fences, from 0, with level and title.
fn headings<'t>(lines: &Lines<'t>) -> Vec<(usize, usize, &'t str)> {
    let mut found = vec![];
    let mut fence: Option<&str> = None;
    for line in 0..lines.count() {
        let text = lines.text(line).trim_start();
        if let Some(open) = fence {
            if text.starts_with(open) && text.trim_end().trim_start_matches(&open[..1]).is_empty() {
                fence = None;
            }
        } else if text.starts_with("```") {
            fence = Some("```");
        } else if text.starts_with("~~~") {
            fence = Some("~~~");
        } else {
            let level = text.bytes().take_while(|byte| *byte == b'#').count();
            let title = text[level..].trim();
            if (1..=6).contains(&level) && text[level..].starts_with([' ', '\t']) && !title.is_empty() {
                found.push((line, level, title.trim_end_matches('#').trim_end()));
            }
        }
    }
    found
}

fn pieces(begins: Vec<usize>, lines: &Lines<'_>, apart: bool) -> Vec<Piece> {
    let mut pieces = vec![];
    let mut start = 0;
    for next in begins.into_iter().chain([lines.count()]) {
        if next > start {
            pieces.push(Piece { lines: start..next, apart });
        }
        start = next;
    }
    pieces
}
