//! A section: a heading's text and the byte ranges that belong to it.

use std::ops::Range;

/// A heading with its text and all sections below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// The heading's level, 1 to 6.
    pub level: u8,
    /// The heading's text as a reader sees it, without markup and images.
    pub text: String,
    /// GitHub's anchor for the heading, unique in the document.
    pub slug: String,
    /// The heading's first line, counted from 1.
    pub line: usize,
    /// The heading's whole lines, with their endings and a setext heading's underline.
    pub heading: Range<usize>,
    /// End of the section's own text: the next heading of any level.
    pub body_end: usize,
    /// End of the section with its children: the next heading of its level or a higher one.
    pub end: usize,
    /// The parent section, as an index into the outline's sections.
    pub parent: Option<usize>,
}
