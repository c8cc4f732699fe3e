//! The targets of a document's links as written, for callers that rename files. Links in code and in HTML are none.

use std::ops::Range;

use pulldown_cmark::{Event, LinkType, Options, Parser, Tag, TagEnd};

use super::{Flavor, front_matter, lines, mdx};

/// The target of a link or an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkTarget {
    /// Its bytes in the document, without brackets around it.
    pub range: Range<usize>,
    /// True for `[[TARGET]]`, false for `[text](TARGET)`, `[label]: TARGET`, and `src="TARGET"` and `href="TARGET"` in HTML.
    pub is_wiki: bool,
}

/// Returns the targets of links in a document's text, in their order.
pub fn link_targets(text: &str, flavor: Flavor) -> Vec<LinkTarget> {
    let masked = lines::mask_lone_cr(text);
    let start = front_matter::find(&masked).end;
    let body = match flavor {
        Flavor::CommonMark => masked[start..].into(),
        Flavor::Mdx => mdx::mask(&masked[start..]),
    };
    let options = Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES | Options::ENABLE_WIKILINKS;
    let parser = Parser::new_ext(&body, options);
    let definitions = parser.reference_definitions().iter();
    let mut targets: Vec<_> =
        definitions.filter_map(|(_, found)| definition(&body, found.span.clone())).collect();
    // Ends of the texts of open links.
    let mut open: Vec<usize> = vec![];
    for (event, range) in parser.into_offset_iter() {
        match event {
            Event::Start(Tag::Link { link_type, .. } | Tag::Image { link_type, .. }) => {
                if matches!(link_type, LinkType::WikiLink { .. }) {
                    targets.extend(wiki(&body, range.clone()));
                }
                let mark = body[range.start..].find('[').map_or(0, |at| at + 1);
                open.push(if link_type == LinkType::Inline { range.start + mark } else { usize::MAX });
            }
            Event::End(TagEnd::Link | TagEnd::Image) => {
                let text_end = open.pop().filter(|end| *end <= range.end);
                targets.extend(text_end.and_then(|end| inline(&body, end..range.end)));
                extend(&mut open, range.end);
            }
            Event::Start(Tag::HtmlBlock) | Event::InlineHtml(_) => {
                targets.extend(html(&body, range.clone()));
                extend(&mut open, range.end);
            }
            _ => extend(&mut open, range.end),
        }
    }
    for target in &mut targets {
        target.range = target.range.start + start..target.range.end + start;
    }
    targets.sort_by_key(|target| target.range.start);
    targets
}

fn extend(open: &mut [usize], end: usize) {
    if let Some(last) = open.last_mut() {
        *last = end.max(*last);
    }
}

/// Finds the target in `[[TARGET|text]]`.
fn wiki(body: &str, range: Range<usize>) -> Option<LinkTarget> {
    let start = range.start + body[range.clone()].find("[[")? + 2;
    let rest = &body[start..range.end];
    // In a table the separator is escaped.
    let target = rest[..rest.find(['|', ']'])?].trim_end_matches('\\');
    Some(LinkTarget { range: start..start + target.len(), is_wiki: true })
}

/// Finds the target in `](TARGET "title")`.
fn inline(body: &str, range: Range<usize>) -> Option<LinkTarget> {
    body[range.clone()].starts_with("](").then(|| destination(body, range.start + 2..range.end))?
}

/// Finds the targets in HTML, but in comments: quoted values of `src` and `href`, without character references.
fn html(body: &str, range: Range<usize>) -> Vec<LinkTarget> {
    let mut targets = vec![];
    let mut at = range.start;
    while at < range.end {
        let rest = &body[at..range.end];
        let text = &rest[..rest.find("<!--").unwrap_or(rest.len())];
        let lower = text.to_ascii_lowercase();
        let target = |(name_at, name): (usize, &str)| {
            let value = text[name_at + name.len()..].trim_start().strip_prefix('=')?.trim_start();
            let quote = value.chars().next().filter(|sign| matches!(sign, '"' | '\''))?;
            let inner = &value[1..];
            let length = inner.find(quote)?;
            let is_target = text[..name_at].ends_with(char::is_whitespace) && !inner[..length].contains('&');
            let start = at + text.len() - inner.len();
            is_target.then(|| LinkTarget { range: start..start + length, is_wiki: false })
        };
        targets.extend(["src", "href"].iter().flat_map(|name| lower.match_indices(name)).filter_map(target));
        let comment = &rest[text.len()..];
        at += text.len() + comment.find("-->").unwrap_or(comment.len());
    }
    targets
}

/// Finds the target in `[label]: TARGET "title"`.
fn definition(body: &str, span: Range<usize>) -> Option<LinkTarget> {
    let mark = body[span.clone()].find("]:")?;
    destination(body, span.start + mark + 2..span.end)
}

/// Finds a destination after blanks: in angle brackets, or up to a blank or a closing parenthesis that it does not open.
fn destination(body: &str, range: Range<usize>) -> Option<LinkTarget> {
    let rest = body[range.clone()].trim_start();
    let start = range.end - rest.len();
    if let Some(inner) = rest.strip_prefix('<') {
        return Some(LinkTarget { range: start + 1..start + 1 + inner.find('>')?, is_wiki: false });
    }
    let mut depth = 0_usize;
    let mut is_escaped = false;
    let ends = |c: char| {
        let was_escaped = is_escaped;
        is_escaped = c == '\\' && !was_escaped;
        match c {
            '(' if !was_escaped => depth += 1,
            ')' if !was_escaped && depth == 0 => return true,
            ')' if !was_escaped => depth -= 1,
            _ => {}
        }
        c.is_whitespace()
    };
    let length = rest.find(ends).unwrap_or(rest.len());
    Some(LinkTarget { range: start..start + length, is_wiki: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_as_written() {
        for (text, targets) in [
            ("---\nx: '[a](b)'\n---\n[a](b.md)", &["b.md"][..]),
            ("[a *b* `c`](<x y.md> \"t\") ![i]( c(1).png )", &["x y.md", "c(1).png"]),
            ("[![i](a.png)](b.md#c)", &["a.png", "b.md#c"]),
            ("[](a.md) [[b]] [[c/d#e|f]] ![[g.md]]", &["a.md", "b", "c/d#e", "g.md"]),
            ("[x][l]\r\n\r\n[l]: a.md 'title'\r\n", &["a.md"]),
            ("`[a](b)` [a] <https://a.example>\n\n    [a](b)\n", &[]),
            ("> - [a](b.md)\n", &["b.md"]),
            (
                "x <IMG SRC = 'a b.png'> <a\thref=\"c.md#d\">\n\n<!-- <a href='e'> -->\n<p data-src='f' src='g'>\n\n`<a href='h'>`",
                &["a b.png", "c.md#d", "g"],
            ),
        ] {
            let found = link_targets(text, Flavor::CommonMark);
            let found: Vec<_> = found.into_iter().map(|target| &text[target.range]).collect();
            assert_eq!(found, targets, "{text:?}");
        }
    }
}
