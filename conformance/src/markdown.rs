//! Finds the sections of a document. Deliberately simple: a CommonMark parser decides what a heading is.

use std::ops::Range;

use pulldown_cmark::{Event, HeadingLevel, Parser, Tag, TagEnd};

const BOM: &str = "\u{feff}";

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

/// Why a heading is not found.
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
    let mut lines = document[start..].split_inclusive('\n');
    let Some(fence) = lines
        .next()
        .map(str::trim_end)
        .filter(|line| ["---", "+++"].contains(line))
    else {
        return start;
    };
    let mut at = start + document[start..].find('\n').map_or(0, |end| end + 1);
    for line in lines {
        at += line.len();
        if line.trim_end() == fence {
            return at;
        }
    }
    start
}

/// Returns the sections of a document, in order. Headings in block quotes and lists do not begin sections.
pub fn sections(document: &str) -> Vec<Section> {
    let front = front(document);
    let mut sections: Vec<Section> = Vec::new();
    let (mut depth, mut anchors) = (0, Vec::new());
    let mut heading = None;
    for (event, range) in Parser::new(&document[front..]).into_offset_iter() {
        match event {
            Event::Start(Tag::Heading { level, .. }) => {
                heading = Some((level, String::new()));
                depth += 1;
            }
            Event::Start(_) => depth += 1,
            Event::End(TagEnd::Heading(_)) => {
                depth -= 1;
                let Some((level, text)) = heading.take() else {
                    continue;
                };
                let anchor = anchor(&text, &mut anchors);
                if depth > 0 {
                    continue;
                }
                let range = lines_of(document, front + range.start..front + range.end);
                sections.push(Section {
                    level: number(level),
                    heading: range,
                    text: text.trim().to_owned(),
                    anchor,
                    end: document.len(),
                });
            }
            Event::End(_) => depth -= 1,
            Event::Text(more) | Event::Code(more) => {
                if let Some((_, text)) = &mut heading {
                    text.push_str(&more);
                }
            }
            Event::SoftBreak | Event::HardBreak => {
                if let Some((_, text)) = &mut heading {
                    text.push(' ');
                }
            }
            _ => {}
        }
    }
    for at in 0..sections.len() {
        let (level, later) = (sections[at].level, &sections[at + 1..]);
        let next = later.iter().find(|section| section.level <= level);
        if let Some(end) = next.map(|section| section.heading.start) {
            sections[at].end = end;
        }
    }
    sections
}

/// Returns the only section whose heading is `target`, compared with its line, then its text, then its anchor.
///
/// # Errors
/// [`NoSection`] if no heading or more than one matches.
pub fn find<'a>(document: &str, sections: &'a [Section], target: &str) -> Result<&'a Section, NoSection> {
    let target = target.trim();
    let ways: [&dyn Fn(usize) -> bool; 3] = [
        &|at| document[sections[at].heading.clone()].trim() == target,
        &|at| sections[at].text == target,
        &|at| sections[at].anchor == target.strip_prefix('#').unwrap_or(target),
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

/// Returns the anchor of the next heading. Headings in block quotes and lists count as well.
fn anchor(text: &str, given: &mut Vec<String>) -> String {
    let kept = text.trim().to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    let plain: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect();
    let numbered = (1..).map(|number| format!("{plain}-{number}"));
    let mut names = std::iter::once(plain.clone()).chain(numbered);
    let free = names.find(|name| !given.contains(name)).unwrap_or(plain);
    given.push(free.clone());
    free
}

/// Extends `range` to whole lines, without the last line ending.
fn lines_of(document: &str, range: Range<usize>) -> Range<usize> {
    let start = document[..range.start].rfind('\n').map_or(0, |at| at + 1);
    let text = document[range.clone()].trim_end_matches(['\n', '\r']);
    let end = range.start + text.len();
    start.max(front(document).min(range.start))..end
}

fn number(level: HeadingLevel) -> u8 {
    level as u8
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
            (
                "```\n# no\n```\n> # no\n\n- # no\n\n    # no\n\n# yes\n",
                "yes:39..45",
            ),
            ("A `b` *c*\n===\n", "A b c:0..14"),
        ];
        for (document, expected) in cases {
            let found: Vec<_> = sections(document)
                .into_iter()
                .map(|section| format!("{}:{}..{}", section.text, section.heading.start, section.end))
                .collect();
            assert_eq!(found.join(" "), expected, "{document:?}");
        }
    }

    #[test]
    fn a_target_is_a_line_else_a_text_else_an_anchor() {
        let document = "# A b\n## Twice\n## Twice\n### `#odd`!\n> # In\n\n# In\n";
        let sections = sections(document);
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
