//! The result of replacing one range of a text.

use std::ops::Range;

use super::outline::Outline;

/// A text in which one range was replaced, with its new outline.
#[derive(Debug)]
pub(super) struct Splice {
    /// The new text.
    pub(super) text: String,
    /// Its outline.
    pub(super) outline: Outline,
    /// The replaced range of the old text.
    pub(super) removed: Range<usize>,
    /// The range of the new text that replaces it.
    pub(super) inserted: Range<usize>,
}

impl Splice {
    /// Returns the position in the new text of a position of the old text outside the removed range.
    pub(super) fn moved(&self, position: usize) -> usize {
        if position < self.removed.start { position } else { position - self.removed.end + self.inserted.end }
    }
}
