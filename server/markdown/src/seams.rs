//! Seams: the line endings between spliced text and the text around it.
//!
//! Content is inserted verbatim. A line ending is added where lines would otherwise join, and a blank line only if the splice
//! would change a neighbouring block and the blank line prevents that: a setext underline that absorbs the paragraph above
//! it, a list that absorbs the paragraph below it.

use std::ops::Range;

use super::outline::Outline;
use super::{Flavor, blocks, lines, outside};

/// A text with one range replaced.
#[derive(Debug)]
pub(super) struct Splice {
    /// The new text.
    pub(super) text: String,
    /// Outline of the new text.
    pub(super) outline: Outline,
    /// The removed range of the old text.
    pub(super) removed: Range<usize>,
    /// The inserted range of the new text.
    pub(super) inserted: Range<usize>,
}

impl Splice {
    /// Converts a position outside the removed range to the new text.
    pub(super) fn moved(&self, position: usize) -> usize {
        if position < self.removed.start {
            position
        } else {
            position - self.removed.end + self.inserted.end
        }
    }
}

/// Replaces `removed` by the content in `old`, whose outline is `before`.
pub(super) fn splice(
    old: &str,
    before: &Outline,
    flavor: Flavor,
    removed: Range<usize>,
    content: &str,
) -> Splice {
    let (left, right) = (&old[..removed.start], &old[removed.end..]);
    let joint = Joint {
        left,
        content,
        right,
        ending: lines::ending_of(old),
    };
    let attempt = |endings: Endings| {
        let (text, inserted) = joint.close(endings);
        let outline = Outline::parse(&text, flavor);
        Splice {
            text,
            outline,
            removed: removed.clone(),
            inserted,
        }
    };

    let mut endings = joint.fewest_endings();
    let mut best = attempt(endings);
    let goes_on_with_table = || outside::table_before(before, &removed) && is_table_row(content, flavor);
    if !outside::kept_before(before, &best) && !goes_on_with_table() {
        let blank_before = Endings {
            before: endings.before + 1,
            ..endings
        };
        let tried = attempt(blank_before);
        if outside::kept_before(before, &tried) {
            (best, endings) = (tried, blank_before);
        }
    }
    if !outside::kept_after(before, &best) {
        let tried = attempt(Endings {
            after: endings.after + 1,
            ..endings
        });
        if outside::kept_after(before, &tried) {
            best = tried;
        }
    }
    best
}

/// Number of line endings to add on either side of the content.
#[derive(Clone, Copy)]
struct Endings {
    before: usize,
    after: usize,
}

/// Three texts to concatenate; the outer two stay unchanged.
struct Joint<'t> {
    left: &'t str,
    content: &'t str,
    right: &'t str,
    /// The document's own line ending.
    ending: &'static str,
}

impl Joint<'_> {
    /// Returns the line endings without which lines would join.
    fn fewest_endings(&self) -> Endings {
        let left = self.left.strip_prefix(lines::BOM).unwrap_or(self.left);
        if self.content.is_empty() {
            return Endings {
                before: lines::glue(left, self.right).into(),
                after: 0,
            };
        }
        let before = lines::glue(left, self.content).into();
        Endings {
            before,
            after: lines::glue(self.content, self.right).into(),
        }
    }

    fn close(&self, endings: Endings) -> (String, Range<usize>) {
        let (before, after) = (
            self.ending.repeat(endings.before),
            self.ending.repeat(endings.after),
        );
        let text = [self.left, &before, self.content, &after, self.right].concat();
        let inserted = self.left.len()..text.len() - self.right.len();
        (text, inserted)
    }
}

/// Returns true if content after a table continues it: it starts as a row and is not a table of its own.
fn is_table_row(content: &str, flavor: Flavor) -> bool {
    let first = Outline::parse(content, flavor)
        .blocks()
        .first()
        .map(|block| block.kind);
    content.trim_start().starts_with('|') && first != Some(blocks::Kind::TABLE)
}
