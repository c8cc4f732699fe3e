//! The outline of a document: its sections, front matter and top-level blocks.
//!
//! A section starts at a top-level heading of CommonMark, ATX or setext; headings inside fences, indented code, HTML, front
//! matter, quotes or lists start none. Building an outline takes one pass of the parser and a stack of at most six open
//! sections.

use std::ops::Range;

use pulldown_cmark::TagEnd;

use super::blocks::{self, Block, BlockKind};
use super::section::Section;
use super::slug::Slugger;
use super::target::{self, TargetError};
use super::{Flavor, front_matter, lines};

/// The structure of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outline {
    front_matter: Range<usize>,
    sections: Vec<Section>,
    blocks: Vec<Block>,
}

impl Outline {
    /// Parses a document. Every text is a valid document.
    pub fn parse(text: &str, flavor: Flavor) -> Self {
        let masked = lines::mask_lone_cr(text);
        let front_matter = front_matter::find(&masked);
        let (blocks, headings) = blocks::parse(&masked, front_matter.end, flavor);
        let mut slugger = Slugger::default();
        let mut sections = SectionBuilder::new(&masked);
        for heading in headings {
            let slug = slugger.slug(&heading.text);
            if let Some(lines) = heading.lines {
                sections.open(heading.level, heading.text, slug, lines);
            }
        }
        Outline { front_matter, sections: sections.all, blocks }
    }

    /// Returns the sections in the order of their headings.
    pub fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// Returns the section that the document begins with. Thematic breaks, HTML, link definitions and statements of MDX may stand above.
    pub fn opening_section(&self) -> Option<&Section> {
        let is_passed = |block: &&Block| {
            matches!(
                block.kind,
                BlockKind::Rule | BlockKind::Unclaimed | BlockKind::Tagged(TagEnd::HtmlBlock)
            )
        };
        let first = self.blocks.iter().find(|block| !is_passed(block))?;
        self.sections.first().filter(|section| section.heading.contains(&first.range.start))
    }

    /// Returns the range of the front matter, including its fence lines; an empty range after the byte order mark if the
    /// document has none.
    pub fn front_matter(&self) -> Range<usize> {
        self.front_matter.clone()
    }

    /// Returns the section that `target` names by its heading's line as written, else by its text, then in any case, else by its
    /// slug or an id such as `{#setup}`. `text` is the text from which this outline was parsed.
    ///
    /// # Errors
    /// If no section matches, or more than one.
    pub fn find(&self, text: &str, target: &str) -> Result<&Section, TargetError> {
        target::find(&self.sections, text, target)
    }

    /// Returns the top-level blocks in document order.
    pub(super) fn blocks(&self) -> &[Block] {
        &self.blocks
    }
}

/// Builds sections from headings. A section stays open until a heading closes it.
struct SectionBuilder<'t> {
    masked: &'t str,
    all: Vec<Section>,
    /// Indices of the open sections, by rising level.
    open: Vec<usize>,
    /// The number of line endings before `counted_to`.
    lines: usize,
    counted_to: usize,
}

impl<'t> SectionBuilder<'t> {
    fn new(masked: &'t str) -> Self {
        SectionBuilder { masked, all: vec![], open: vec![], lines: 0, counted_to: 0 }
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
        self.all.push(Section { level, text, slug, line, heading, body_end: end, end, parent });
    }

    /// Returns the number of the line that starts at `position`. Positions must not decrease, so each byte is read once.
    fn line_at(&mut self, position: usize) -> usize {
        self.lines += self.masked[self.counted_to..position].matches('\n').count();
        self.counted_to = position;
        self.lines + 1
    }
}
