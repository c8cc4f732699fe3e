//! Structural changes outside a splice.
//!
//! An edit keeps the bytes outside the splice, but may change their structure: an unclosed fence swallows the headings
//! after it, a paragraph merges with the next one. These functions compare the outlines before and after in one pass.

use std::collections::HashMap;

use pulldown_cmark::TagEnd;

use super::blocks::{Block, BlockKind};
use super::outline::Outline;
use super::section::Section;
use super::splice::Splice;

/// Returns the headings outside the splice that are only in the old outline, and those only in the new one. A heading is
/// identified by its start, because its level is in unchanged bytes.
pub(super) fn headings(before: &Outline, splice: &Splice) -> (Vec<Section>, Vec<Section>) {
    let mut lost = vec![];
    let mut gained = vec![];
    let mut new = splice.outline.sections().iter().peekable();
    for section in before.sections() {
        if splice.removed.contains(&section.heading.start) {
            continue;
        }
        let start = splice.moved(section.heading.start);
        while let Some(other) = new.next_if(|other| other.heading.start < start) {
            gained.push(other);
        }
        if new.next_if(|other| other.heading.start == start).is_none() {
            lost.push(section.clone());
        }
    }
    gained.extend(new);
    let inserted = &splice.inserted;
    gained.retain(|section| section.heading.start < inserted.start || section.heading.end > inserted.end);
    (lost, gained.into_iter().cloned().collect())
}

/// Returns true if bytes outside the splice became front matter or ceased to be front matter.
pub(super) fn front_matter_changed(before: &Outline, splice: &Splice) -> bool {
    let (before, after) = (before.front_matter(), splice.outline.front_matter());
    let added_by_content = before.is_empty() && after.end <= splice.inserted.end;
    before != after && !added_by_content
}

/// Returns true if one block of code or HTML, such as a comment, has text on both sides of `position`: what opened it hides the rest.
pub(super) fn is_hidden(outline: &Outline, position: usize) -> bool {
    let hides =
        |block: &Block| matches!(block.kind, BlockKind::Tagged(TagEnd::CodeBlock | TagEnd::HtmlBlock));
    blocks_before(outline, position).next_back().is_some_and(|last| hides(last) && last.range.end > position)
}

/// Returns the number of headings that the splice removes, and does not insert again.
pub(super) fn removed_headings(before: &Outline, splice: &Splice) -> usize {
    let mut counts = HashMap::<&str, isize>::new();
    for (outline, range, step) in [(before, &splice.removed, 1), (&splice.outline, &splice.inserted, -1)] {
        for section in outline.sections() {
            if range.contains(&section.heading.start) {
                *counts.entry(&section.text).or_default() += step;
            }
        }
    }
    counts.into_values().map(|count| count.max(0) as usize).sum()
}

/// Returns true if the blocks before the splice are unchanged.
pub(super) fn keeps_blocks_before(before: &Outline, splice: &Splice) -> bool {
    blocks_before(before, splice.removed.start).eq(blocks_before(&splice.outline, splice.inserted.start))
}

/// Returns true if the blocks after the splice are unchanged.
pub(super) fn keeps_blocks_after(before: &Outline, splice: &Splice) -> bool {
    let old = blocks_from(before, splice.removed.end).iter();
    let new = blocks_from(&splice.outline, splice.inserted.end).iter();
    let moved = |block: &Block| {
        let range = splice.moved(block.range.start)..splice.moved(block.range.end);
        Block { kind: block.kind, range }
    };
    old.map(moved).eq(new.cloned())
}

/// Returns the top-level blocks that start before `position`.
pub(super) fn blocks_before(outline: &Outline, position: usize) -> std::slice::Iter<'_, Block> {
    let blocks = outline.blocks();
    blocks[..blocks.partition_point(|block| block.range.start < position)].iter()
}

/// Returns the top-level blocks from `position` on.
pub(super) fn blocks_from(outline: &Outline, position: usize) -> &[Block] {
    let blocks = outline.blocks();
    &blocks[blocks.partition_point(|block| block.range.start < position)..]
}
