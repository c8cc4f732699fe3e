//! The line endings that separate inserted content from the text around it.
//!
//! Content is inserted verbatim. A line ending is added where the content would otherwise merge with a line outside. A
//! blank line is added in two cases only. According to the parser, the splice changes a block outside and the blank line
//! prevents that: a setext heading that swallows the paragraph above it, a list that takes in the paragraph below it. Or a
//! blank line stood above the heading that follows, and the content would take its place.

use std::{borrow::Cow, ops::Range};

use super::outline::Outline;
use super::splice::Splice;
use super::{Flavor, blocks, lines, outside};

/// Replaces the range `removed` of `old` with the content. `before` is the outline of `old`.
pub(super) fn splice(
    old: &str,
    before: &Outline,
    flavor: Flavor,
    removed: Range<usize>,
    content: &str,
) -> Splice {
    let (left, right) = (&old[..removed.start], &old[removed.end..]);
    let seam = Seam {
        left,
        content,
        right,
        ending: lines::ending_of(old),
    };
    let attempt = |endings: Endings| {
        let (text, inserted) = seam.join(endings);
        let outline = Outline::parse(&text, flavor);
        Splice {
            text,
            outline,
            removed: removed.clone(),
            inserted,
        }
    };

    let mut endings = seam.required_endings();
    let mut best = attempt(endings);
    let continues_table = || outside::table_before(before, &removed) && is_table_row(content, flavor);
    if !outside::keeps_blocks_before(before, &best) && !continues_table() {
        let blank_before = Endings {
            before: endings.before + 1,
            ..endings
        };
        let tried = attempt(blank_before);
        if outside::keeps_blocks_before(before, &tried) {
            (best, endings) = (tried, blank_before);
        }
    }
    if !outside::keeps_blocks_after(before, &best) {
        let tried = attempt(Endings {
            after: endings.after + 1,
            ..endings
        });
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
    let is_heading = sections
        .binary_search_by_key(&at, |section| section.heading.start)
        .is_ok();
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
            return Endings {
                before: lines::would_merge(left, self.right).into(),
                after: 0,
            };
        }
        let before = lines::would_merge(left, self.content).into();
        Endings {
            before,
            after: lines::would_merge(self.content, self.right).into(),
        }
    }

    fn join(&self, endings: Endings) -> (String, Range<usize>) {
        let (before, after) = (
            self.ending.repeat(endings.before),
            self.ending.repeat(endings.after),
        );
        let text = [self.left, &before, self.content, &after, self.right].concat();
        let inserted = self.left.len()..text.len() - self.right.len();
        (text, inserted)
    }
}

/// Returns true if content that follows a table continues it: it starts as a row and is no table of its own.
fn is_table_row(content: &str, flavor: Flavor) -> bool {
    let first = Outline::parse(content, flavor)
        .blocks()
        .first()
        .map(|block| block.kind);
    content.trim_start().starts_with('|') && first != Some(blocks::BlockKind::TABLE)
}
