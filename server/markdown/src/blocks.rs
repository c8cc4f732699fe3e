//! One pass of pulldown-cmark over a text's mask: its top-level blocks, and its headings.
//!
//! [`super::outside`] compares the blocks before and after an edit; [`super::outline`] uses the headings. Positions are
//! those of the text.

use std::ops::Range;

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::{Flavor, lines, mdx};

/// A top-level block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) kind: BlockKind,
    /// The block without white space at its end.
    pub(super) range: Range<usize>,
}

/// The kind of a top-level block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockKind {
    /// A block that pulldown-cmark names.
    Tagged(TagEnd),
    /// A thematic break.
    Rule,
    /// Lines outside all of the parser's blocks: link reference definitions, and text that the MDX mask hides.
    Unclaimed,
}

impl BlockKind {
    /// A table with all its rows.
    pub(super) const TABLE: BlockKind = BlockKind::Tagged(TagEnd::Table);
}

/// A heading at any depth.
#[derive(Debug)]
pub(super) struct Heading {
    /// 1 to 6.
    pub(super) level: u8,
    /// The text a reader sees, without markup and images.
    pub(super) text: String,
    /// The heading's whole lines, with their endings and a setext heading's underline; `None` for a heading in a quote,
    /// list or footnote, which only counts for the numbering of slugs.
    pub(super) lines: Option<Range<usize>>,
}

/// Parses `masked` (without lone `\r`) from `start`, the end of the front matter. Returns the top-level blocks and
/// all headings, both in the order of the text.
pub(super) fn parse(masked: &str, start: usize, flavor: Flavor) -> (Vec<Block>, Vec<Heading>) {
    let body = lines::mask_final_tabs(&masked[start..]);
    match flavor {
        Flavor::CommonMark => Reader::new(&body, start).read(&body),
        Flavor::Mdx => Reader::new(&body, start).read(&mdx::mask(&body)),
    }
}

/// The state of the walk over the parser's events.
struct Reader<'t> {
    /// The text without the MDX mask, to find the hidden parts.
    body: &'t str,
    /// Start of the body in the whole text.
    offset: usize,
    blocks: Vec<Block>,
    headings: Vec<Heading>,
    /// The number of open blocks and spans.
    depth: usize,
    in_heading: bool,
    /// The number of open images, whose text is not visible.
    images: usize,
    /// True if the last event was text.
    after_text: bool,
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
            after_text: false,
        }
    }

    fn read(mut self, masked: &str) -> (Vec<Block>, Vec<Heading>) {
        let options = Options::ENABLE_TABLES
            | Options::ENABLE_FOOTNOTES
            | Options::ENABLE_STRIKETHROUGH
            | Options::ENABLE_TASKLISTS;
        for (event, range) in Parser::new_ext(masked, options).into_offset_iter() {
            let after_text = matches!(event, Event::Text(_));
            match event {
                Event::Start(tag) => self.open(&tag, range),
                Event::End(tag) => self.close(tag),
                Event::Rule if self.depth == 0 => self.block(BlockKind::Rule, range),
                Event::Text(text) | Event::Code(text) => self.visible(&text),
                Event::SoftBreak | Event::HardBreak => self.visible(" "),
                _ => {}
            }
            self.after_text = after_text;
        }
        self.unclaimed(self.body.len());
        (self.blocks, self.headings)
    }

    fn open(&mut self, tag: &Tag<'_>, range: Range<usize>) {
        if let Tag::Heading { level, .. } = tag {
            self.heading(*level, range.clone());
        }
        if self.depth == 0 {
            self.block(BlockKind::Tagged(tag.to_end()), range);
        }
        self.images += usize::from(matches!(tag, Tag::Image { .. }));
        self.depth += 1;
    }

    fn close(&mut self, tag: TagEnd) {
        self.depth -= 1;
        match tag {
            TagEnd::Heading(_) => {
                self.in_heading = false;
                // The parser keeps white space at the end of some headings.
                if self.after_text
                    && let Some(heading) = self.headings.last_mut()
                {
                    heading.text.truncate(heading.text.trim_end_matches(' ').len());
                }
            }
            TagEnd::Image => self.images -= 1,
            _ => {}
        }
    }

    fn heading(&mut self, level: HeadingLevel, range: Range<usize>) {
        self.in_heading = true;
        let lines = (self.depth == 0).then(|| {
            // The parser does not specify how much white space belongs to a heading's range.
            let start = lines::line_start(self.body, range.start);
            let end = lines::line_end(self.body, range.end);
            self.offset + start..self.offset + end
        });
        self.headings.push(Heading { level: level as u8, text: String::new(), lines });
    }

    fn visible(&mut self, text: &str) {
        if self.in_heading
            && self.images == 0
            && let Some(heading) = self.headings.last_mut()
        {
            heading.text.push_str(text);
        }
    }

    fn block(&mut self, kind: BlockKind, range: Range<usize>) {
        self.unclaimed(range.start);
        self.push(kind, range);
    }

    /// Records the text between the last block and `end`, if it is not blank.
    fn unclaimed(&mut self, end: usize) {
        let start = self.blocks.last().map_or(0, |block| block.range.end - self.offset);
        if start < end {
            self.push(BlockKind::Unclaimed, start..end);
        }
    }

    fn push(&mut self, kind: BlockKind, range: Range<usize>) {
        let text = &self.body[range.clone()];
        let trimmed = text.trim_ascii();
        if trimmed.is_empty() {
            return;
        }
        let start = self.offset + range.start + (text.len() - text.trim_ascii_start().len());
        self.blocks.push(Block { kind, range: start..start + trimmed.len() });
    }
}
