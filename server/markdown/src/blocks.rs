//! Parses a text's mask once with pulldown-cmark: its top-level blocks and its headings.
//!
//! [`super::outside`] compares the blocks of a document before and after an edit; the [`super::outline`] is built from the
//! headings. Positions are those of the text.

use std::ops::Range;

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::{Flavor, lines, mdx};

/// A top-level block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Block {
    /// Kind of the block.
    pub(super) kind: Kind,
    /// Its range, from the first to the last character that is not white space.
    pub(super) range: Range<usize>,
}

/// Kind of a top-level block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A block with a tag of pulldown-cmark.
    Tagged(TagEnd),
    /// A thematic break.
    Rule,
    /// Lines outside of all blocks: link reference definitions, and lines that the MDX mask hides.
    Unclaimed,
}

impl Kind {
    /// A table, with all its rows.
    pub(super) const TABLE: Kind = Kind::Tagged(TagEnd::Table);
}

/// A heading at any depth.
#[derive(Debug)]
pub(super) struct Heading {
    /// Level, 1 to 6.
    pub(super) level: u8,
    /// Visible text, without markup and images.
    pub(super) text: String,
    /// Range of its whole lines, with their endings and a setext underline; `None` inside quotes, lists and footnotes, whose
    /// headings only affect the numbering of slugs.
    pub(super) lines: Option<Range<usize>>,
}

/// Parses `masked` (without lone `\r`) from `start` on, where the front matter ends. Returns the top-level blocks and
/// all headings, both in the order of the text.
pub(super) fn parse(masked: &str, start: usize, flavor: Flavor) -> (Vec<Block>, Vec<Heading>) {
    match flavor {
        Flavor::CommonMark => Reader::new(&masked[start..], start).read(&masked[start..]),
        Flavor::Mdx => Reader::new(&masked[start..], start).read(&mdx::mask(&masked[start..])),
    }
}

/// The state of the walk over the parser's events.
struct Reader<'t> {
    /// The text before the MDX mask, to see what the mask hides.
    body: &'t str,
    /// Offset of the body in the text.
    offset: usize,
    blocks: Vec<Block>,
    headings: Vec<Heading>,
    /// Number of open blocks and spans.
    depth: usize,
    in_heading: bool,
    /// Number of open images, whose text is not visible.
    images: usize,
}

impl<'t> Reader<'t> {
    fn new(body: &'t str, offset: usize) -> Self {
        Reader {
            body,
            offset,
            blocks: vec![],
            headings: vec![],
            depth: 0,
            in_heading: false,
            images: 0,
        }
    }

    fn read(mut self, masked: &str) -> (Vec<Block>, Vec<Heading>) {
        let options = Options::ENABLE_TABLES
            | Options::ENABLE_FOOTNOTES
            | Options::ENABLE_STRIKETHROUGH
            | Options::ENABLE_TASKLISTS;
        for (event, range) in Parser::new_ext(masked, options).into_offset_iter() {
            match event {
                Event::Start(tag) => self.open(&tag, range),
                Event::End(tag) => self.close(tag),
                Event::Rule if self.depth == 0 => self.block(Kind::Rule, range),
                Event::Text(text) | Event::Code(text) => self.visible(&text),
                Event::SoftBreak | Event::HardBreak => self.visible(" "),
                _ => {}
            }
        }
        self.unclaimed(self.body.len());
        (self.blocks, self.headings)
    }

    fn open(&mut self, tag: &Tag<'_>, range: Range<usize>) {
        if let Tag::Heading { level, .. } = tag {
            self.heading(*level, range.clone());
        }
        if self.depth == 0 {
            self.block(Kind::Tagged(tag.to_end()), range);
        }
        self.images += usize::from(matches!(tag, Tag::Image { .. }));
        self.depth += 1;
    }

    fn close(&mut self, tag: TagEnd) {
        self.depth -= 1;
        match tag {
            TagEnd::Heading(_) => self.in_heading = false,
            TagEnd::Image => self.images -= 1,
            _ => {}
        }
    }

    fn heading(&mut self, level: HeadingLevel, range: Range<usize>) {
        self.in_heading = true;
        let lines = (self.depth == 0).then(|| {
            // The parser does not define how much white space belongs to a heading's range.
            let start = lines::line_start(self.body, range.start);
            let end = lines::line_end(self.body, range.end);
            self.offset + start..self.offset + end
        });
        self.headings.push(Heading {
            level: level as u8,
            text: String::new(),
            lines,
        });
    }

    fn visible(&mut self, text: &str) {
        if self.in_heading
            && self.images == 0
            && let Some(heading) = self.headings.last_mut()
        {
            heading.text.push_str(text);
        }
    }

    fn block(&mut self, kind: Kind, range: Range<usize>) {
        self.unclaimed(range.start);
        self.push(kind, range);
    }

    /// Records lines between the last block and `end`, if there are any.
    fn unclaimed(&mut self, end: usize) {
        let start = self
            .blocks
            .last()
            .map_or(0, |block| block.range.end - self.offset);
        if start < end {
            self.push(Kind::Unclaimed, start..end);
        }
    }

    fn push(&mut self, kind: Kind, range: Range<usize>) {
        let text = &self.body[range.clone()];
        let trimmed = text.trim_ascii();
        if trimmed.is_empty() {
            return;
        }
        let start = self.offset + range.start + (text.len() - text.trim_ascii_start().len());
        self.blocks.push(Block {
            kind,
            range: start..start + trimmed.len(),
        });
    }
}
