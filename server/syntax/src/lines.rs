//! Lines of a text.

use std::ops::Range;

/// Index of the lines of a text. A text that is not empty has at least one line; a line includes its line break.
pub(crate) struct Lines<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        let mut starts: Vec<usize> = vec![];
        if !text.is_empty() {
            starts.push(0);
            starts.extend(text.match_indices('\n').map(|(at, _)| at + 1));
            starts.pop_if(|last| *last == text.len());
        }
        Self { text, starts }
    }

    /// Returns the number of lines.
    pub(crate) fn count(&self) -> usize {
        self.starts.len()
    }

    /// Returns the first byte of line `line`, from 0; behind the last one, the text's end.
    pub(crate) fn start(&self, line: usize) -> usize {
        self.starts.get(line).copied().unwrap_or(self.text.len())
    }

    /// Returns the line, from 0, that contains the byte `at`.
    pub(crate) fn line_at(&self, at: usize) -> usize {
        self.starts.partition_point(|start| *start <= at).saturating_sub(1)
    }

    /// Returns the bytes of some lines.
    pub(crate) fn bytes(&self, lines: Range<usize>) -> Range<usize> {
        self.start(lines.start)..self.start(lines.end)
    }

    /// Returns a line without its line break.
    pub(crate) fn text(&self, line: usize) -> &'t str {
        self.text[self.bytes(line..line + 1)].trim_end_matches(['\n', '\r'])
    }
}
