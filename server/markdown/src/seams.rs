//! The line endings that separate inserted content from the text around it.
//!
//! Content is inserted verbatim. A line ending is added where the content would otherwise merge with a line outside. A blank line
//! is added in two cases only. According to the parser, the splice changes a block outside and the blank line prevents that: a
//! setext heading that swallows the paragraph above it, a list that takes in the paragraph below it. Or a blank line preceded the
//! next heading, and the content would take its place.
//!
//! A row after a table, an item after a list and a line after a quote are meant to continue it: [`joint`].

use std::{borrow::Cow, ops::Range};

use pulldown_cmark::TagEnd;

use super::blocks::{Block, BlockKind};
use super::outline::Outline;
use super::splice::Splice;
use super::{Flavor, lines, outside};

/// Replaces the range `removed` of `old` with the content. `before` is the outline of `old`.
pub(super) fn splice(
    old: &str,
    before: &Outline,
    flavor: Flavor,
    removed: Range<usize>,
    content: &str,
) -> Splice {
    let (left, right) = (&old[..removed.start], &old[removed.end..]);
    let seam = Seam { left, content, right, ending: lines::ending_of(old) };
    let attempt = |endings: Endings| {
        let (text, inserted) = seam.join(endings);
        let outline = Outline::parse(&text, flavor);
        Splice { text, outline, removed: removed.clone(), inserted }
    };

    let mut endings = seam.required_endings();
    let mut best = attempt(endings);
    let continues = || joint(old, before, removed.start, content, flavor).is_some();
    if !outside::keeps_blocks_before(before, &best) && !continues() {
        let blank_before = Endings { before: endings.before + 1, ..endings };
        let tried = attempt(blank_before);
        if outside::keeps_blocks_before(before, &tried) {
            (best, endings) = (tried, blank_before);
        }
    }
    let is_continued = || {
        let last = Outline::parse(content, flavor).blocks().last().cloned();
        let next = outside::blocks_from(before, removed.end).first();
        let (Some(last), Some(next)) = (last, next) else {
            return false;
        };
        is_quote(&last) && is_quote(next) && !is_callout(next, old)
    };
    if !outside::keeps_blocks_after(before, &best) && !is_continued() {
        let tried = attempt(Endings { after: endings.after + 1, ..endings });
        if outside::keeps_blocks_after(before, &tried) {
            best = tried;
        }
    }
    best
}

/// Returns the content for an edit of `old` that replaces the range `removed`. If a heading follows the range, below a blank
/// line, the content ends with a blank line too: endings are added if it does not. Empty content stays empty.
pub(super) fn with_blank_line<'t>(
    old: &str,
    before: &Outline,
    removed: &Range<usize>,
    content: &'t str,
) -> Cow<'t, str> {
    let at = removed.end;
    let sections = before.sections();
    let is_heading = sections.binary_search_by_key(&at, |section| section.heading.start).is_ok();
    if content.is_empty() || !is_heading || !lines::ends_with_blank_line(&old[..at]) {
        return content.into();
    }
    let mut content = Cow::from(content);
    while !lines::ends_with_blank_line(&content) {
        content.to_mut().push_str(lines::ending_of(old));
    }
    content
}

/// The number of line endings to add on either side of the content.
#[derive(Clone, Copy)]
struct Endings {
    before: usize,
    after: usize,
}

/// Three texts to join; the outer two stay as they are.
struct Seam<'t> {
    left: &'t str,
    content: &'t str,
    right: &'t str,
    /// The document's own line ending.
    ending: &'static str,
}

impl Seam<'_> {
    /// Returns the line endings that keep the content from merging with a line outside.
    fn required_endings(&self) -> Endings {
        let left = self.left.strip_prefix(lines::BOM).unwrap_or(self.left);
        if self.content.is_empty() {
            return Endings { before: lines::would_merge(left, self.right).into(), after: 0 };
        }
        let before = lines::would_merge(left, self.content).into();
        Endings { before, after: lines::would_merge(self.content, self.right).into() }
    }

    fn join(&self, endings: Endings) -> (String, Range<usize>) {
        let (before, after) = (self.ending.repeat(endings.before), self.ending.repeat(endings.after));
        let text = [self.left, &before, self.content, &after, self.right].concat();
        let inserted = self.left.len()..text.len() - self.right.len();
        (text, inserted)
    }
}

/// Returns the range that content for `position` of `old` replaces to continue the last block before it: below the block's last
/// line, if the content starts with a row of that table, an item of that list or a line of that quote, or with one of a block at the end
/// of that list, and only blank lines are between. Blank lines at the content's end replace the existing ones. A list with blank lines
/// between its items is continued below one more.
pub(super) fn joint(
    old: &str,
    before: &Outline,
    position: usize,
    content: &str,
    flavor: Flavor,
) -> Option<Range<usize>> {
    let last = outside::blocks_before(before, position).next_back()?;
    let rest = old.get(last.range.end..position)?;
    let outline = Outline::parse(content, flavor);
    let first = outline.blocks().first()?;
    let is_first_line = content[..first.range.start].trim_matches([' ', '\t']).is_empty();
    let continues = || {
        continues((old, last), (content, first))
            || is_list(last) && continues_in_item(&old[last.range.clone()], content, flavor)
    };
    (is_first_line && continues()).then(|| {
        let blank = after_line(rest);
        let start = position - blank.len();
        let last = outline.blocks().last().unwrap_or(first);
        let own = after_line(&content[last.range.end..]);
        let end = start + if blank.starts_with(own) { own.len() } else { 0 };
        start..end
    })
}

/// Returns true if the block `first` of one text continues the block `last` of the other.
fn continues((old, last): (&str, &Block), (content, first): (&str, &Block)) -> bool {
    let (above, below) = (&old[last.range.clone()], &content[first.range.clone()]);
    match last.kind {
        // A row without a table above it is a paragraph.
        BlockKind::TABLE => first.kind != BlockKind::TABLE && is_row(below, above),
        _ if is_list(last) => {
            first.kind == last.kind && list_marker(above) == list_marker(below) && !has_blank_line(above)
        }
        _ => is_quote(last) && is_quote(first) && !is_callout(first, content),
    }
}

/// Returns true if content continues a block at the end of a list's last item, whose text has the content's indentation.
fn continues_in_item(list: &str, content: &str, flavor: Flavor) -> bool {
    let indent = content.len() - content.trim_start_matches(' ').len();
    if indent == 0 {
        return false;
    }
    let is_in_item =
        |line: &&str| line.trim().is_empty() || line.len() - line.trim_start_matches(' ').len() >= indent;
    let masked = lines::mask_lone_cr(list);
    let all: Vec<&str> = masked.lines().collect();
    let inside = all.iter().rev().take_while(|line| is_in_item(line)).count();
    // The line above has the item's marker in place of the indentation.
    let item = &all[all.len().saturating_sub(inside + 1)..];
    let without_indent = |line: &&str| line.get(indent..).unwrap_or_default().to_owned() + "\n";
    let item: String = item.iter().map(without_indent).collect();
    let content = lines::mask_lone_cr(content);
    let content: String = content.lines().collect::<Vec<_>>().iter().map(without_indent).collect();
    let (above, below) = (Outline::parse(&item, flavor), Outline::parse(&content, flavor));
    match (above.blocks().last(), below.blocks().first()) {
        (Some(last), Some(first)) => continues((&item, last), (&content, first)),
        _ => false,
    }
}

/// Returns true for text that starts with a row of a table: with `|`, or with as many cells as a table that is written without `|` around
/// its rows.
fn is_row(text: &str, table: &str) -> bool {
    let cells = |text: &str| {
        text.split(['\n', '\r']).next().unwrap_or_default().replace("\\|", "").matches('|').count()
    };
    text.starts_with('|') || (!table.starts_with('|') && cells(text) == cells(table))
}

/// Returns the blank lines below the line that white space ends.
fn after_line(blank: &str) -> &str {
    let rest = blank.trim_start_matches([' ', '\t']);
    &rest[lines::ending_at_start(rest).len()..]
}

/// Returns the marker of the items of the list at the start of a text. Items with different markers are in different lists.
fn list_marker(list: &str) -> Option<char> {
    list.trim_start_matches(|c: char| c.is_ascii_digit()).chars().next()
}

fn has_blank_line(text: &str) -> bool {
    let masked = lines::mask_lone_cr(text);
    masked.lines().any(|line| line.trim().is_empty())
}

fn is_list(block: &Block) -> bool {
    matches!(block.kind, BlockKind::Tagged(TagEnd::List(_)))
}

fn is_quote(block: &Block) -> bool {
    matches!(block.kind, BlockKind::Tagged(TagEnd::BlockQuote(_)))
}

/// Returns true for a quote that starts with a separate marker line, such as `> [!note]`.
fn is_callout(quote: &Block, text: &str) -> bool {
    let quote = text[quote.range.clone()].trim_start_matches(['>', ' ', '\t']);
    quote.starts_with("[!")
}
