//! Two documents rendered as one, with removed and added blocks.

use std::ops::Range;

use maud::{Markup, html};
use pulldown_cmark::{Event, Parser, Tag};
use tabellion_markdown::{
    Flavor, Outline,
    diff::{Comparison, words},
};

use super::{
    controls::visible,
    prose::{Notes, body, body_with_marks, options},
};

/// Renders two documents as one. Blocks are compared, and shown whole: removed ones struck out, added ones
/// marked. In paragraphs, headings, lists and quotes that replace others, the differing words are marked.
pub fn compared(old: &str, new: &str, notes: Notes<'_>) -> Markup {
    let (old_start, new_start) = (front_matter(old), front_matter(new));
    let (old_body, new_body) = (&old[old_start..], &new[new_start..]);
    let (old_blocks, new_blocks) = (blocks(old_body), blocks(new_body));
    // Each block is one line of a text, so that blocks are compared like lines.
    let as_lines = |text: &str, blocks: &[Range<usize>]| -> String {
        blocks
            .iter()
            .map(|block| text[block.clone()].trim_end().replace(['\n', '\r'], "\u{b}") + "\n")
            .collect()
    };
    let (old_lines, new_lines) = (as_lines(old_body, &old_blocks), as_lines(new_body, &new_blocks));
    let parts = Comparison::between(&old_lines, &new_lines).parts();
    let mut at = 0;
    let pieces: Vec<_> = parts
        .iter()
        .map(|part| {
            let same = at..part.new.start;
            at = part.new.end;
            (same, part.old.clone(), part.new.clone())
        })
        .collect();
    let shown = |text: &str, blocks: &[Range<usize>]| match (blocks.first(), blocks.last()) {
        (Some(first), Some(last)) => body(&text[first.start..last.end], notes),
        _ => html! {},
    };
    let changed = |gone: Range<usize>, come: Range<usize>| {
        let (gone, come) = (&old_blocks[gone], &new_blocks[come]);
        let pairs: Vec<_> = gone
            .iter()
            .zip(come)
            .filter(|_| gone.len() == come.len())
            .map(|(gone, come)| pair(&old_body[gone.clone()], &new_body[come.clone()], notes))
            .collect();
        html! {
            @if pairs.is_empty() {
                @if !gone.is_empty() { del { (shown(old_body, gone)) } }
                @if !come.is_empty() { ins { (shown(new_body, come)) } }
            }
            @for pair in &pairs { (pair) }
        }
    };
    html! {
        div.hunk { div.prose {
            @if old[..old_start] != new[..new_start] { (head(&old[..old_start], &new[..new_start])) }
            @for (same, gone, come) in pieces {
                (shown(new_body, &new_blocks[same]))
                (changed(gone, come))
            }
            (shown(new_body, &new_blocks[at..]))
        } }
    }
}

/// Shows a block that replaces another.
fn pair(gone: &str, come: &str, notes: Notes<'_>) -> Markup {
    let is_prose = |text| {
        !matches!(
            Parser::new_ext(text, options()).next(),
            Some(Event::Start(Tag::CodeBlock(_) | Tag::Table(_) | Tag::HtmlBlock))
        )
    };
    let in_one_line = |text: &str| text.replace(['\n', '\r'], " ");
    let (old, new) = if is_prose(gone) && is_prose(come) {
        words(&in_one_line(gone), &in_one_line(come))
    } else {
        (vec![], vec![])
    };
    html! { del { (body_with_marks(gone, &old, notes)) } ins { (body_with_marks(come, &new, notes)) } }
}

/// Shows a changed front matter, line by line.
fn head(old: &str, new: &str) -> Markup {
    let compared = Comparison::between(old, new);
    let (old, new): (Vec<_>, Vec<_>) = (old.lines().collect(), new.lines().collect());
    html! { pre.unseen { @for part in compared.parts() {
        @for line in old.get(part.old).unwrap_or_default() { del { (visible(line)) } "\n" }
        @for line in new.get(part.new).unwrap_or_default() { ins { (visible(line)) } "\n" }
    } } }
}

fn front_matter(text: &str) -> usize {
    Outline::parse(text, Flavor::CommonMark).front_matter().end
}

/// Returns the ranges of the outermost blocks.
fn blocks(text: &str) -> Vec<Range<usize>> {
    let (mut depth, mut blocks) = (0_usize, vec![]);
    for (event, range) in Parser::new_ext(text, options()).into_offset_iter() {
        match event {
            Event::Start(_) => {
                if depth == 0 {
                    blocks.push(range);
                }
                depth += 1;
            }
            Event::End(_) => depth -= 1,
            _ if depth == 0 => blocks.push(range),
            _ => {}
        }
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_that_went_and_came_are_marked() {
        let found = compared(
            "---\na: 1\n---\n# T\n\nsame\n\nold\n\nsame\n\nkept for a week, *all*\n\nsame\n\n```\none two four\n```\n",
            "---\na: 2\n---\n# T\n\nsame\n\nnew <b>\n\nsame\n\nkept for 35 days, *all*\n\nsame\n\n```\none two three\n```\n",
            &|_| None,
        )
        .0;
        for expected in [
            "<del>a: 1</del>",
            "<ins>a: 2</ins>",
            "<h2>T</h2><p>same</p>",
            "<del><div dir=\"auto\"><p>old</p>",
            "<del><div dir=\"auto\"><p>kept for <mark>a week</mark>, <em>all</em></p></div></del>",
            "<ins><div dir=\"auto\"><p>kept for <mark>35 days</mark>, <em>all</em></p></div></ins>",
            "<code>one two three\n</code>",
            "<p>new <code class=\"unseen\">&lt;b&gt;</code></p>",
        ] {
            assert!(found.contains(expected), "{expected}: {found}");
        }
        let found = compared("a\n", "a\n", &|_| None).0;
        assert!(!found.contains("<ins>") && !found.contains("<del>"), "{found}");
    }
}
