//! Finds the sections of a document, as the CommonMark parser `markdown` reads it.
//!
//! The suite must not share a parser with the servers it judges: both would be wrong together. Where a heading is a matter
//! of dialect, or the document is more than this parser can read in time, [`sections`] returns [`Unclear`] and no server
//! is judged by it. `parsers.toml` lists where parsers disagree.

use std::{
    collections::{HashMap, VecDeque},
    ops::Range,
    panic,
    sync::LazyLock,
};

use markdown::{Constructs, ParseOptions, mdast::Node};
use regex::Regex;

const BOM: &str = "\u{feff}";

/// Upper bound of the bytes of a document that is read.
const MAX_BYTES: usize = 1_000_000;
/// Upper bound of the lines and the characters that may be markup, together: the parser's time grows with their square.
const MAX_MARKS: usize = 20_000;
/// Upper bound of blocks within blocks.
const MAX_DEPTH: usize = 50;

/// Reason why no server is judged by a document's sections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unclear {
    /// The document is too large, or its blocks are nested too deeply.
    #[error("the document has more structure than the suite's parser reads")]
    TooLarge,
    /// The parser loses text of a heading, or panics.
    #[error("the suite's parser fails on the document")]
    ParserFails,
    /// CommonMark and GitHub's dialect have different sections.
    #[error("the document has other sections in CommonMark than in GitHub's dialect")]
    Dialect,
    /// Sections differ if a form feed or vertical tab is white space, as in versions of CommonMark before 0.30.
    #[error("the document's sections depend on whether form feeds and vertical tabs are white space")]
    Blanks,
}

/// A heading with everything up to the next one of the same or a higher level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// Level, from 1 to 6.
    pub level: u8,
    /// Byte range of the heading's lines, without the last line ending.
    pub heading: Range<usize>,
    /// Text of the heading, without markup.
    pub text: String,
    /// GitHub's anchor for the heading, exact for letters, digits, blanks and hyphens.
    pub anchor: String,
    /// End of the section: the next heading of the same or a higher level, or the end of the document.
    pub end: usize,
}

/// Reason why a heading is not found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoSection {
    /// No heading matches.
    Missing,
    /// This many headings match.
    Ambiguous(usize),
}

/// Returns the length of a byte order mark and front matter.
pub fn front(document: &str) -> usize {
    let start = if document.starts_with(BOM) { BOM.len() } else { 0 };
    let mut lines = lines(document, start);
    let Some(fence) =
        lines.next().map(|line| document[line].trim_end()).filter(|line| ["---", "+++"].contains(line))
    else {
        return start;
    };
    lines.find(|line| document[line.clone()].trim_end() == fence).map_or(start, |line| line.end)
}

/// Returns the lines from `start` on with their endings, which are `\n`, `\r\n` or `\r`.
fn lines(document: &str, mut start: usize) -> impl Iterator<Item = Range<usize>> {
    std::iter::from_fn(move || {
        let rest = &document[start..];
        let end = match rest.find(['\n', '\r']) {
            Some(at) if rest[at..].starts_with("\r\n") => at + 2,
            Some(at) => at + 1,
            None => rest.len(),
        };
        let line = start..start + end;
        start = line.end;
        (!line.is_empty()).then_some(line)
    })
}

/// Returns the sections of a document, in order. Headings in block quotes and lists do not begin sections.
///
/// # Errors
/// [`Unclear`] if no server may be judged by them.
pub fn sections(document: &str) -> Result<Vec<Section>, Unclear> {
    if !is_readable(document) {
        return Err(Unclear::TooLarge);
    }
    if has_bare_mark(document) {
        return Err(Unclear::ParserFails);
    }
    let read = |document: &str, constructs: fn() -> Constructs| {
        panic::catch_unwind(|| sections_in(document, constructs())).unwrap_or(Err(Unclear::ParserFails))
    };
    let sections = read(document, Constructs::default)?;
    if sections != read(document, github)? {
        return Err(Unclear::Dialect);
    }
    let blanks = ['\u{b}', '\u{c}'];
    if document.contains(blanks) && sections != read(&document.replace(blanks, " "), Constructs::default)? {
        return Err(Unclear::Blanks);
    }
    Ok(sections)
}

/// Returns GitHub's dialect, without constructs that do not change headings.
fn github() -> Constructs {
    Constructs { gfm_autolink_literal: false, ..Constructs::gfm() }
}

/// Returns true if the parser reads the document in about a second.
fn is_readable(document: &str) -> bool {
    let is_mark = |byte: u8| b"\n\r[]!<&`*_~|\\>-+#={".contains(&byte);
    document.len() <= MAX_BYTES
        && document.bytes().filter(|byte| is_mark(*byte)).count() <= MAX_MARKS
        && document.split(['\n', '\r']).all(|line| depth(line) <= MAX_DEPTH)
}

/// Returns an upper bound of the containers that hold the start of a line: one for each marker of a quote or a list, and
/// one for every two columns of white space, which is the least that continues a list item.
fn depth(line: &str) -> usize {
    let (markers, columns) = prefix(line);
    markers + columns / 2
}

/// Returns the number of markers of quotes and lists at the start of a line, and the columns of white space there.
fn prefix(line: &str) -> (usize, usize) {
    let (mut markers, mut columns) = (0, 0);
    let mut rest = line.trim_end().bytes().peekable();
    while let Some(byte) = rest.next() {
        match byte {
            b' ' => columns += 1,
            b'\t' => columns += 4,
            b'0'..=b'9' => {}
            b'>' => markers += 1,
            b'-' | b'+' | b'*' | b'.' | b')' if matches!(rest.peek(), None | Some(b' ' | b'\t')) => {
                markers += 1
            }
            _ => break,
        }
    }
    (markers, columns)
}

fn sections_in(document: &str, constructs: Constructs) -> Result<Vec<Section>, Unclear> {
    let front = front(document);
    // After a blank line, because the parser drops a byte order mark at the start of its text.
    let body = ["\n", &document[front..]].concat();
    let options = ParseOptions { constructs, ..ParseOptions::default() };
    let root = markdown::to_mdast(&body, &options).expect("every text is CommonMark");
    let mut sections: Vec<Section> = Vec::new();
    let mut anchors = Anchors::default();
    let mut blocks: VecDeque<_> = children(&root).map(|block| (true, block)).collect();
    while let Some((is_top, block)) = blocks.pop_front() {
        let (Node::Heading(heading), Some(position)) = (block, block.position()) else {
            for inside in children(block).rev() {
                blocks.push_front((false, inside));
            }
            continue;
        };
        let source = &body[position.start.offset..position.end.offset];
        if loses_text(source) || source.lines().next().is_some_and(is_break) {
            return Err(Unclear::ParserFails);
        }
        let text = visible_text(block);
        let anchor = anchors.next(&text);
        if is_top {
            let at = |offset: usize| front + offset - 1;
            sections.push(Section {
                level: heading.depth,
                heading: lines_of(document, at(position.start.offset)..at(position.end.offset)),
                text: text.trim().to_owned(),
                anchor,
                end: document.len(),
            });
        }
    }
    for at in 0..sections.len() {
        let (level, later) = (sections[at].level, &sections[at + 1..]);
        let next = later.iter().find(|section| section.level <= level);
        if let Some(end) = next.map(|section| section.heading.start) {
            sections[at].end = end;
        }
    }
    Ok(sections)
}

/// Returns the text of inline code, without the line ending on either side that the parser keeps.
fn code_text(code: &str) -> String {
    let text = on_one_line(code);
    let inner = text.strip_prefix(' ').and_then(|text| text.strip_suffix(' '));
    match inner {
        Some(inner) if code.starts_with(['\n', '\r']) || code.ends_with(['\n', '\r']) => inner.to_owned(),
        _ => text,
    }
}

fn on_one_line(text: &str) -> String {
    text.replace("\r\n", " ").replace(['\n', '\r'], " ")
}

/// Returns true if a line of only `#` or `-` follows text, anywhere after a quote or list: the parser misses some of these
/// headings.
fn has_bare_mark(document: &str) -> bool {
    let (mut after_container, mut after_text) = (false, false);
    for line in document.split(['\n', '\r']).map(str::trim) {
        let is_bare = line == "-" || !line.is_empty() && line.len() <= 6 && line.bytes().all(|it| it == b'#');
        if is_bare && after_container && after_text {
            return true;
        }
        after_container |= prefix(line).0 > 0;
        after_text = !line.is_empty();
    }
    false
}

/// Returns true if a line is a thematic break, which the parser takes for text after a link reference definition.
fn is_break(line: &str) -> bool {
    let marks: Vec<_> = line.chars().filter(|c| !c.is_whitespace()).collect();
    marks.len() >= 3 && ['-', '*', '_'].iter().any(|mark| marks.iter().all(|c| c == mark))
}

/// Returns true if the parser leaves out number signs of a heading's text, as in `# #1 of all` and `# A # #`.
fn loses_text(heading: &str) -> bool {
    let mut words: Vec<_> = heading.split([' ', '\t']).filter(|word| !word.is_empty()).collect();
    let is_marks = |word: &&str| word.bytes().all(|byte| byte == b'#');
    words.pop_if(|word| is_marks(&&**word));
    words.first().is_some_and(is_marks) && words[1..].iter().any(|word| word.starts_with('#'))
}

fn children(node: &Node) -> std::slice::Iter<'_, Node> {
    node.children().map(|nodes| nodes.iter()).unwrap_or_default()
}

/// Returns the visible text of a heading: its text and code, without markup and images.
fn visible_text(heading: &Node) -> String {
    let mut text = String::new();
    let mut inlines: Vec<_> = children(heading).rev().collect();
    while let Some(inline) = inlines.pop() {
        match inline {
            Node::Text(part) => text.push_str(&on_one_line(&part.value)),
            Node::InlineCode(code) => text.push_str(&code_text(&code.value)),
            Node::Break(_) => text.push(' '),
            _ => inlines.extend(children(inline).rev()),
        }
    }
    text
}

/// Returns the only section whose heading is `target`, compared with its line, then its text, then its anchor.
/// A blank target names none.
///
/// # Errors
/// [`NoSection`] if no heading or more than one matches.
pub fn find<'a>(document: &str, sections: &'a [Section], target: &str) -> Result<&'a Section, NoSection> {
    let target = target.trim();
    if target.is_empty() {
        return Err(NoSection::Missing);
    }
    let anchor = target.strip_prefix('#').unwrap_or(target);
    let ways: [&dyn Fn(usize) -> bool; 3] = [
        &|at| document[sections[at].heading.clone()].trim() == target,
        &|at| sections[at].text == target,
        &|at| !anchor.is_empty() && sections[at].anchor == anchor,
    ];
    for matches in ways {
        let found: Vec<_> = (0..sections.len()).filter(|at| matches(*at)).collect();
        match found[..] {
            [] => {}
            [one] => return Ok(&sections[one]),
            _ => return Err(NoSection::Ambiguous(found.len())),
        }
    }
    Err(NoSection::Missing)
}

/// GitHub's anchors. Headings in block quotes and lists count as well.
#[derive(Default)]
struct Anchors(HashMap<String, usize>);

impl Anchors {
    /// Returns the anchor of the next heading.
    fn next(&mut self, text: &str) -> String {
        static DROPPED: LazyLock<Regex> =
            LazyLock::new(|| Regex::new(r"[^\w -]|[\x{200c}\x{200d}]").expect("the expression is valid"));
        let plain = DROPPED.replace_all(&text.to_lowercase(), "").replace(' ', "-");
        let mut anchor = plain.clone();
        while self.0.contains_key(&anchor) {
            let number = self.0.entry(plain.clone()).or_default();
            *number += 1;
            anchor = format!("{plain}-{number}");
        }
        self.0.insert(anchor.clone(), 0);
        anchor
    }
}

/// Extends `range` to whole lines, without the last line ending.
fn lines_of(document: &str, range: Range<usize>) -> Range<usize> {
    let start = document[..range.start].rfind(['\n', '\r']).map_or(0, |at| at + 1);
    let text = document[range.clone()].trim_end_matches(['\n', '\r']);
    let end = range.start + text.len();
    start.max(front(document).min(range.start))..end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_are_where_commonmark_has_headings() {
        let cases = [
            ("", ""),
            ("text\n", ""),
            ("# A\n\ntext\n\n## B\nb\n# C\n", "A:0..18 B:11..18 C:18..22"),
            ("---\na: 1\n---\n# A\n", "A:13..17"),
            ("\u{feff}# A\r\n\r\nB\r\n---\r\nb", "A:3..19 B:10..19"),
            ("```\n# no\n```\n> # no\n\n- # no\n\n    # no\n\n# yes\n", "yes:39..45"),
            ("A `b` *c*\n===\n", "A b c:0..14"),
        ];
        for (document, expected) in cases {
            let found: Vec<_> = sections(document)
                .expect(document)
                .into_iter()
                .map(|section| format!("{}:{}..{}", section.text, section.heading.start, section.end))
                .collect();
            assert_eq!(found.join(" "), expected, "{document:?}");
        }
    }

    /// Quadratic work on the larger texts would keep the test from ending.
    #[test]
    fn documents_beyond_the_parsers_limits_are_not_read() {
        for part in [
            "[", "![", "*a_ ", "> ", ">", "- ", "1. ", "\n", "\r", "#\n", "a\n=\n", "<a ", "&", "`", "- a\n",
            "[a]: b\n",
        ] {
            let repeated = |bytes: usize| part.repeat(bytes / part.len());
            let _ = sections(&repeated(16_000));
            assert_eq!(sections(&repeated(1_000_001 + part.len())), Err(Unclear::TooLarge), "{part:?}");
        }
        let deep =
            |levels: usize| sections(&format!("{}a\n\n# A\n", "> ".repeat(levels))).map(|all| all.len());
        assert_eq!((deep(30), deep(60)), (Ok(1), Err(Unclear::TooLarge)));
    }

    /// A document on which `markdown` 1.0.0 panics: an ordered list indented by two, with HTML, before an empty item.
    #[test]
    fn a_document_that_the_parser_panics_on_is_not_judged() {
        assert_eq!(sections("  1. <pre>\n* "), Err(Unclear::ParserFails));
    }

    #[test]
    fn a_target_is_a_line_else_a_text_else_an_anchor() {
        let document = "# A b\n## Twice\n## Twice\n### `#odd`!\n> # In\n\n# In\n";
        let sections = sections(document).unwrap();
        let cases = [
            ("# A b", Ok(0)),
            ("A b", Ok(0)),
            ("#a-b", Ok(0)),
            ("a-b", Ok(0)),
            ("## A b", Err(NoSection::Missing)),
            ("Twice", Err(NoSection::Ambiguous(2))),
            ("twice-1", Ok(2)),
            ("odd", Ok(3)),
            ("in-1", Ok(4)),
            ("#in", Err(NoSection::Missing)),
            ("", Err(NoSection::Missing)),
        ];
        for (target, expected) in cases {
            let found = find(document, &sections, target).map(|found| {
                let same = sections.iter().position(|section| section == found);
                same.expect("one of them")
            });
            assert_eq!(found, expected, "{target:?}");
        }
    }
}
