//! The outline: a document's sections, each with its byte ranges.
//!
//! A heading is a top-level block of CommonMark, ATX or setext: never inside a fence, indented code, HTML, front matter, a
//! quote or a list. Building the outline is linear: one pass of the parser, and a stack of at most six open sections.

use std::ops::Range;

use super::blocks::{self, Block};
use super::slug::Slugger;
use super::target::{self, TargetError};
use super::{Flavor, front_matter, lines};

/// A heading with its text and children.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// The heading's level, 1 to 6.
    pub level: u8,
    /// The visible text of the heading, without markup and images.
    pub text: String,
    /// GitHub's anchor for the heading, unique in the document.
    pub slug: String,
    /// The heading's first line, counted from 1.
    pub line: usize,
    /// Range of the heading's whole lines, with their endings and a setext underline.
    pub heading: Range<usize>,
    /// End of the section's own text: the next heading of any level.
    pub body_end: usize,
    /// End of the section with its children: the next heading of its level or a higher one.
    pub end: usize,
    /// Index of the parent in the outline's sections.
    pub parent: Option<usize>,
}

/// The structure of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outline {
    front_matter: Range<usize>,
    sections: Vec<Section>,
    blocks: Vec<Block>,
}

impl Outline {
    /// Parses a document. Any text is a document.
    pub fn parse(text: &str, flavor: Flavor) -> Self {
        let masked = lines::mask_lone_cr(text);
        let front_matter = front_matter::find(&masked);
        let (blocks, headings) = blocks::parse(&masked, front_matter.end, flavor);
        let mut slugger = Slugger::default();
        let mut sections = Sections::new(&masked);
        for heading in headings {
            let slug = slugger.slug(&heading.text);
            if let Some(lines) = heading.lines {
                sections.open(heading.level, heading.text, slug, lines);
            }
        }
        Outline {
            front_matter,
            sections: sections.all,
            blocks,
        }
    }

    /// Returns the sections in the order of their headings.
    pub fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// Returns the range of the front matter, including its fence lines. It starts after a byte order mark, and is empty
    /// there if the document has none.
    pub fn front_matter(&self) -> Range<usize> {
        self.front_matter.clone()
    }

    /// Returns the only section that `target` names: by its heading's line as written, otherwise by its text, otherwise by
    /// its slug. `text` is the text from which the outline was parsed.
    ///
    /// # Errors
    /// If no section has that name, or several have.
    pub fn find(&self, text: &str, target: &str) -> Result<&Section, TargetError> {
        target::find(&self.sections, text, target)
    }

    /// Returns the top-level blocks in order.
    pub(super) fn blocks(&self) -> &[Block] {
        &self.blocks
    }
}

/// Sections under construction: the last ones are open until a heading closes them.
struct Sections<'t> {
    masked: &'t str,
    all: Vec<Section>,
    /// Indices of the open sections; levels increase.
    open: Vec<usize>,
    /// Number of lines before `counted_to`.
    lines: usize,
    counted_to: usize,
}

impl<'t> Sections<'t> {
    fn new(masked: &'t str) -> Self {
        Sections {
            masked,
            all: vec![],
            open: vec![],
            lines: 0,
            counted_to: 0,
        }
    }

    fn open(&mut self, level: u8, text: String, slug: String, heading: Range<usize>) {
        if let Some(last) = self.all.last_mut() {
            last.body_end = heading.start;
        }
        while let Some(index) = self.open.pop_if(|&mut index| self.all[index].level >= level) {
            self.all[index].end = heading.start;
        }
        let line = self.line_at(heading.start);
        let (end, parent) = (self.masked.len(), self.open.last().copied());
        self.open.push(self.all.len());
        self.all.push(Section {
            level,
            text,
            slug,
            line,
            heading,
            body_end: end,
            end,
            parent,
        });
    }

    /// Returns the number of the line that starts at `position`. Positions only increase, so each byte is read once.
    fn line_at(&mut self, position: usize) -> usize {
        self.lines += self.masked[self.counted_to..position].matches('\n').count();
        self.counted_to = position;
        self.lines + 1
    }
}
