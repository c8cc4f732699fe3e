//! Code and HTML of a document.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag};

use super::{Flavor, front_matter, lines, mdx};

/// Returns the ranges of code and HTML in a document's text, in their order.
pub fn code_ranges(text: &str, flavor: Flavor) -> Vec<Range<usize>> {
    let masked = lines::mask_lone_cr(text);
    let start = front_matter::find(&masked).end;
    let body = match flavor {
        Flavor::CommonMark => masked[start..].into(),
        Flavor::Mdx => mdx::mask(&masked[start..]),
    };
    let parser = Parser::new_ext(&body, Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES);
    let is_code = |event: &Event<'_>| {
        matches!(
            event,
            Event::Start(Tag::CodeBlock(_)) | Event::Code(_) | Event::Html(_) | Event::InlineHtml(_)
        )
    };
    let code = parser.into_offset_iter().filter(|(event, _)| is_code(event));
    code.map(|(_, range)| range.start + start..range.end + start).collect()
}
