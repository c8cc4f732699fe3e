//! Finds the sections of a document and plans edits of its text.
//!
//! Headings are CommonMark's at top level. An edit replaces a range of bytes by the content. It adds a line ending only
//! if the content would join a line, and a blank line only if this keeps the surrounding blocks unchanged.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag};
use tabellion_contracts::braindrive_markdown::{EditOperation, ToolError};

use super::mutant::{Mutant, is};

/// Result of an edit of a text.
pub(super) struct Plan {
    /// New text.
    pub(super) text: String,
    /// Removed byte range of the old text.
    pub(super) removed: Range<usize>,
    /// True if blocks outside of the edit change.
    pub(super) changes_others: bool,
}

/// A heading at top level that begins a section.
struct Heading {
    /// Byte range of its whole lines.
    lines: Range<usize>,
    level: u8,
    text: String,
    slug: String,
}

/// A block at top level: kind and byte range.
type Block = (String, Range<usize>);

/// Plans an edit of `old`.
pub(super) fn plan(old: &str, operation: &EditOperation) -> Result<Plan, ToolError> {
    let outline = Outline::read(old);
    let (removed, content) = match operation {
        EditOperation::Append { content } => (old.len()..old.len(), content),
        EditOperation::Prepend { content } => (outline.start..outline.start, content),
        EditOperation::ReplaceSection { target, content } => (outline.section(old, target)?, content),
        EditOperation::InsertBefore { target, content } => {
            let section = outline.section(old, target)?;
            (section.start..section.start, content)
        }
        EditOperation::InsertAfter { target, content } => {
            let section = outline.section(old, target)?;
            (section.end..section.end, content)
        }
    };
    Ok(splice(old, &outline, removed, content))
}

/// Returns the operation's name in the contract, and its target.
pub(super) fn named(operation: &EditOperation) -> (&'static str, Option<&str>) {
    match operation {
        EditOperation::Append { .. } => ("append", None),
        EditOperation::Prepend { .. } => ("prepend", None),
        EditOperation::ReplaceSection { target, .. } => ("replace_section", Some(target)),
        EditOperation::InsertBefore { target, .. } => ("insert_before", Some(target)),
        EditOperation::InsertAfter { target, .. } => ("insert_after", Some(target)),
    }
}

fn splice(old: &str, outline: &Outline, removed: Range<usize>, content: &str) -> Plan {
    let (left, right) = (&old[..removed.start], &old[removed.end..]);
    let ending = if old.find('\n').is_some_and(|at| old[..at].ends_with('\r')) { "\r\n" } else { "\n" };
    let glues = |above: &str, below: &str| {
        let above = above.trim_start_matches('\u{feff}');
        usize::from(!above.is_empty() && !below.is_empty() && !above.ends_with(['\n', '\r']))
    };
    let (above, below) = if content.is_empty() {
        (glues(left, right), 0)
    } else {
        (glues(left, content), glues(content, right))
    };
    let attempt = |above: usize, below: usize| {
        let text = [left, &ending.repeat(above), content, &ending.repeat(below), right].concat();
        let inserted = removed.start..text.len() - right.len();
        let (before, after) = outline.same_around(&Outline::read(&text), &removed, &inserted);
        (text, before, after)
    };
    let (mut text, mut before, mut after) = attempt(above, below);
    for (more_above, more_below) in [(1, 0), (0, 1), (1, 1)] {
        if before && after {
            break;
        }
        let (other, kept_before, kept_after) = attempt(above + more_above, below + more_below);
        if (kept_before || !before)
            && (kept_after || !after)
            && (kept_before != before || kept_after != after)
        {
            (text, before, after) = (other, kept_before, kept_after);
        }
    }
    Plan { text: super::mutant::damage(text), removed, changes_others: !(before && after) }
}

/// Start of a document's text, its headings, and its blocks.
struct Outline {
    /// End of the byte order mark and the front matter.
    start: usize,
    headings: Vec<Heading>,
    blocks: Vec<Block>,
}

impl Outline {
    fn read(text: &str) -> Self {
        let masked = lone_returns_as_newlines(text);
        let start = front_matter_end(&masked);
        let (mut headings, mut blocks, mut slugs) = (Vec::new(), Vec::new(), Vec::<String>::new());
        let (mut depth, mut open) = (0, None::<(u8, Range<usize>, String)>);
        for (event, range) in Parser::new_ext(&masked[start..], Options::empty()).into_offset_iter() {
            let range = range.start + start..range.end + start;
            match event {
                Event::Start(tag) => {
                    if depth == 0 {
                        let end = range.start + masked[range.clone()].trim_end().len();
                        blocks.push((format!("{:?}", tag.to_end()), range.start..end));
                    }
                    if let Tag::Heading { level, .. } = tag {
                        open = Some((level as u8, range, String::new()));
                    }
                    depth += 1;
                }
                Event::End(tag) => {
                    depth -= 1;
                    if matches!(tag, pulldown_cmark::TagEnd::Heading(_))
                        && let Some((level, range, text)) = open.take()
                    {
                        let slug = slug(&text, &slugs);
                        slugs.push(slug.clone());
                        if depth == 0 {
                            headings.push(Heading { lines: whole_lines(&masked, range), level, text, slug });
                        }
                    }
                }
                Event::Text(part) | Event::Code(part) => {
                    if let Some((_, _, text)) = &mut open {
                        text.push_str(&part);
                    }
                }
                Event::SoftBreak | Event::HardBreak => {
                    if let Some((_, _, text)) = &mut open {
                        text.push(' ');
                    }
                }
                Event::Rule if depth == 0 => blocks.push(("Rule".into(), range)),
                _ => {}
            }
        }
        if is(Mutant::FenceHeading) {
            headings = super::mutant::headings_by_lines(&masked)
                .map(|(lines, level, text)| Heading { lines, level, slug: slug(&text, &[]), text })
                .collect();
        }
        Self { start, headings, blocks }
    }

    /// Returns the lines of the only section that `target` names by its heading as written, else its text, else its
    /// slug.
    fn section(&self, text: &str, target: &str) -> Result<Range<usize>, ToolError> {
        let target = target.trim();
        let anchor = target.strip_prefix('#').unwrap_or(target);
        let written =
            |heading: &Heading| text[heading.lines.clone()].lines().next().unwrap_or_default().trim();
        let readings: [&dyn Fn(&Heading) -> bool; 3] =
            [&|heading| written(heading) == target, &|heading| heading.text.trim() == target, &|heading| {
                heading.slug == anchor
            }];
        let all = |names: &&dyn Fn(&Heading) -> bool| -> Vec<usize> {
            (0..self.headings.len()).filter(|at| names(&self.headings[*at])).collect()
        };
        let found = readings.iter().map(all).find(|found| !found.is_empty()).unwrap_or_default();
        let describe = |at: &usize| {
            let heading = &self.headings[*at];
            let line = text[..heading.lines.start].matches('\n').count() + 1;
            format!("{:?} (line {line}, #{})", written(heading), heading.slug)
        };
        match found[..] {
            _ if target.is_empty() => Err(ToolError::not_found("`target` is empty; give a heading")),
            [] if is(Mutant::MissingHeadingAppends) => Ok(text.len()..text.len()),
            [] => {
                let mut near: Vec<_> = (0..self.headings.len()).collect();
                let likeness = |at: &usize| {
                    let ratio =
                        similar::TextDiff::from_chars(self.headings[*at].text.as_str(), target).ratio();
                    (1000.0 * (1.0 - ratio)) as u32
                };
                near.sort_by_cached_key(likeness);
                let near: Vec<_> = near.iter().take(5).map(describe).collect();
                let message = format!("section {target:?} not found; the closest are {}", near.join(", "));
                Err(ToolError::not_found(message))
            }
            [at] => Ok(self.lines(text, at)),
            [at, ..] if is(Mutant::FirstMatchWins) => Ok(self.lines(text, at)),
            _ => {
                let named: Vec<_> = found.iter().map(describe).collect();
                let message = format!("{target:?} names {}; say which by its slug", named.join(", "));
                Err(ToolError::ambiguous_target(message))
            }
        }
    }

    /// Returns the lines of a section with its subsections.
    fn lines(&self, text: &str, at: usize) -> Range<usize> {
        let heading = &self.headings[at];
        let next = self.headings[at + 1..].iter().find(|other| other.level <= heading.level);
        heading.lines.start..next.map_or(text.len(), |next| next.lines.start)
    }

    /// Returns two flags: true if the blocks above a splice are the same in `new`, and true if those below it are.
    fn same_around(&self, new: &Self, removed: &Range<usize>, inserted: &Range<usize>) -> (bool, bool) {
        let above = |blocks: &[Block], end: usize| -> Vec<Block> {
            blocks.iter().filter(|(_, range)| range.start < end).cloned().collect()
        };
        // Counted from the end, because the splice shifts the start.
        let below = |blocks: &[Block], start: usize, end: usize| -> Vec<Block> {
            let blocks = blocks.iter().filter(|(_, range)| range.start >= start);
            blocks.map(|(kind, range)| (kind.clone(), end - range.start..end - range.end)).collect()
        };
        let moved = |position: usize| position - removed.end + inserted.end;
        let end = self.blocks.iter().map(|(_, range)| range.end).max().unwrap_or_default().max(removed.end);
        let front_matter =
            self.start == new.start || removed.start <= self.start && new.start <= inserted.end;
        (
            front_matter && above(&self.blocks, removed.start) == above(&new.blocks, inserted.start),
            below(&self.blocks, removed.end, end) == below(&new.blocks, inserted.end, moved(end)),
        )
    }
}

/// Replaces lone `\r`, which end a line in CommonMark but not for the parser.
fn lone_returns_as_newlines(text: &str) -> String {
    let mut next = text.chars().skip(1);
    let masked = text.chars().map(|c| match (c, next.next()) {
        ('\r', after) if after != Some('\n') => '\n',
        _ => c,
    });
    masked.collect()
}

fn front_matter_end(text: &str) -> usize {
    let start = if text.starts_with('\u{feff}') { 3 } else { 0 };
    let mut lines = text[start..].split_inclusive('\n');
    let fence = lines.next().unwrap_or_default();
    let mut end = start + fence.len();
    if ["---", "+++"].contains(&fence.trim_end()) {
        for line in lines {
            end += line.len();
            if line.trim_end() == fence.trim_end() {
                return end;
            }
        }
    }
    start
}

fn whole_lines(text: &str, range: Range<usize>) -> Range<usize> {
    let start = text[..range.start].rfind('\n').map_or(0, |at| at + 1);
    let start = if text[start..].starts_with('\u{feff}') { start + 3 } else { start };
    if text[..range.end].ends_with('\n') {
        return start..range.end;
    }
    start..text[range.end..].find('\n').map_or(text.len(), |at| range.end + at + 1)
}

/// Returns GitHub's anchor of a heading, with a number if an earlier heading has the same.
fn slug(text: &str, given: &[String]) -> String {
    let lower = text.to_lowercase();
    let stays = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    let base: String = lower.chars().filter(stays).map(|c| if c == ' ' { '-' } else { c }).collect();
    let numbered = (1..).map(|number| format!("{base}-{number}"));
    let mut all = std::iter::once(base.clone()).chain(numbered);
    all.find(|slug| !given.contains(slug)).unwrap_or(base)
}
