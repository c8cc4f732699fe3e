//! Merging two changes of one text.
//!
//! [`merge`] takes the lines that only one side changed from that side. [`merge_documents`] is for copies of a document that were
//! changed independently: blocks run from heading to heading and are matched by heading and number, keys of the front matter by
//! name. A block that one side changed is taken from that side; one that both changed is merged by lines, and where both only
//! insert, both insertions stay, each in one piece, the shared side's first. A block that can't be merged keeps the shared side's
//! version and is reported: the caller keeps the other one. A merge that would drop lines of both sides, or make valid front
//! matter invalid, is none.

use std::{
    cmp::{Ordering, Reverse},
    collections::{HashMap, HashSet},
};

use diffy::{ConflictStyle, MergeOptions};

use super::{
    Flavor, FrontMatter, Outline,
    diff::{Comparison, Part},
    ending_of,
};

/// Two changes of the same lines. Holds the text with both sides between conflict markers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("both sides changed the same lines")]
pub struct MergeConflict(pub Vec<u8>);

/// Returns `ours` with the change from `base` to `theirs`. The time grows with the number of lines and of differing ones.
///
/// # Errors
/// If both sides changed the same or adjacent lines differently.
pub fn merge(base: &[u8], ours: &[u8], theirs: &[u8]) -> Result<Vec<u8>, MergeConflict> {
    if theirs == base || theirs == ours {
        return Ok(ours.to_vec());
    }
    if ours == base {
        return Ok(theirs.to_vec());
    }
    MergeOptions::new()
        .set_conflict_style(ConflictStyle::Merge)
        .set_incomplete_hunk_style(diffy::IncompleteHunkStyle::Git)
        .merge_bytes(base, ours, theirs)
        .map_err(MergeConflict)
}

/// Two changes of one document in one text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    /// The document.
    pub text: String,
    /// Set if `own` has changes that the text lacks.
    pub is_conflict: bool,
}

/// Merges the changes from `base` to `own` and to `shared`. Without a base, each side wrote the document independently. The time
/// grows with the number of lines and of differing ones.
pub fn merge_documents(base: Option<&str>, own: &str, shared: &str, flavor: Flavor) -> Merged {
    let clean = |text: &str| Merged { text: text.to_owned(), is_conflict: false };
    if own == shared || Some(own) == base {
        return clean(shared);
    }
    if Some(shared) == base {
        return clean(own);
    }
    let conflict = Merged { text: shared.to_owned(), is_conflict: true };
    let Some(base) = base else { return conflict };
    let [b, o, s] = [base, own, shared].map(|text| blocks(text, flavor));
    let is_sound =
        |text: &str| is_front_matter_kept([own, shared], text) && has_common_lines([base, own, shared], text);
    let by_sections = merge_blocks([&b, &o, &s], &mut merge_block)
        .map(|merged| Merged {
            text: joined(&merged.blocks, ending_of(shared)),
            is_conflict: merged.is_conflict,
        })
        .filter(|merged| has_blocks_of(&merged.text, [&b, &o, &s], flavor) && is_sound(&merged.text));
    match by_sections {
        Some(merged) if !merged.is_conflict => merged,
        // A renamed heading is a block removed and another added, which lines may still tell apart.
        by_sections => {
            let by_lines = Some(merge_lines(base, own, shared, Inserts::Conflict));
            match by_lines.filter(|merged| is_sound(&merged.text)) {
                Some(merged) if !merged.is_conflict => merged,
                by_lines => by_sections.or(by_lines).unwrap_or(conflict),
            }
        }
    }
}

/// Returns true unless `text` has invalid front matter, and both sides have not.
fn is_front_matter_kept(sides: [&str; 2], text: &str) -> bool {
    let is_valid = |text: &str| FrontMatter::parse(text).is_ok();
    is_valid(text) || !sides.into_iter().all(is_valid)
}

/// Returns true if `text`, merged from the base, own and shared version, has each line that both sides have, and none of them again.
fn has_common_lines(versions: [&str; 3], text: &str) -> bool {
    let count = |text| {
        let mut counts = HashMap::<&str, usize>::new();
        for line in str::lines(text).map(str::trim_end).filter(|line| !line.is_empty()) {
            *counts.entry(line).or_default() += 1;
        }
        counts
    };
    let ([base, own, shared], merged) = (versions.map(count), count(text));
    own.iter().all(|(line, own)| {
        let [base, shared, merged] =
            [&base, &shared, &merged].map(|counts| counts.get(line).copied().unwrap_or(0));
        // Each side may have removed or added others of the equal lines.
        let by_both = (own + shared).saturating_sub(base);
        shared == 0 || (by_both.min(*own).min(shared)..=by_both.max(*own).max(shared)).contains(&merged)
    })
}

/// A part of a document, and the blank lines after it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Block {
    id: String,
    content: String,
    gap: String,
    /// True for the last block of the document.
    is_last: bool,
}

/// Id of the front matter, and that of the text before the first heading. No heading begins with NUL.
const FRONT_MATTER: &str = "\0front matter";
const PREAMBLE: &str = "\0preamble";

fn blocks(text: &str, flavor: Flavor) -> Vec<Block> {
    let outline = Outline::parse(text, flavor);
    let body = outline.front_matter().end;
    let mut starts = vec![(0, FRONT_MATTER.to_owned()), (body, PREAMBLE.to_owned())];
    let headings = outline.sections().iter().map(|section| {
        let heading = text[section.heading.clone()].trim();
        (section.heading.start, heading.to_owned())
    });
    starts.extend(headings);
    cut(text, starts)
}

/// Returns the keys of a front matter, each with the lines below it.
fn keys(text: &str) -> Vec<Block> {
    let (mut starts, mut at) = (Vec::new(), 0);
    for line in text.split_inclusive('\n') {
        let is_fence = line.trim_end() == "---" || at == 0;
        let name = line.split(':').next().unwrap_or_default();
        let is_key = line.contains(':') && !line.starts_with([' ', '\t', '#', '-']);
        if is_fence || is_key {
            starts.push((at, name.trim().to_owned()));
        }
        at += line.len();
    }
    cut(text, starts)
}

/// Cuts `text` where the blocks of these names start. Equal names are numbered; empty blocks are left out.
fn cut(text: &str, starts: Vec<(usize, String)>) -> Vec<Block> {
    let mut seen = HashMap::<String, usize>::new();
    let ends = starts.iter().skip(1).map(|(start, _)| *start).chain([text.len()]);
    let ranges: Vec<_> = starts.iter().map(|(start, _)| *start).zip(ends).collect();
    let named = starts.into_iter().zip(ranges);
    let named = named.filter(|(_, (start, end))| start < end);
    let mut blocks: Vec<_> = named
        .map(|((_, name), (start, end))| {
            let whole = &text[start..end];
            let content = whole.trim_end_matches(['\n', '\r']);
            let number = seen.entry(name.clone()).or_default();
            *number += 1;
            Block {
                id: format!("{name}\0{number}"),
                content: content.to_owned(),
                gap: whole[content.len()..].to_owned(),
                is_last: false,
            }
        })
        .collect();
    if let Some(last) = blocks.last_mut() {
        last.is_last = true;
    }
    blocks
}

/// Joins blocks. One that ended its document is set off from the next by a blank line.
fn joined(blocks: &[Block], ending: &str) -> String {
    let mut text = String::new();
    for (number, block) in blocks.iter().enumerate() {
        text.push_str(&block.content);
        let is_last = number + 1 == blocks.len();
        if is_last || !block.is_last {
            text.push_str(&block.gap);
        } else {
            text.push_str(&format!("{ending}{ending}"));
        }
    }
    text
}

/// Blocks of three versions, merged.
struct MergedBlocks {
    blocks: Vec<Block>,
    is_conflict: bool,
}

/// Merges two lists of blocks with a common origin: the base's, the own one and the shared one. `None` if both sides moved blocks.
fn merge_blocks(
    sides: [&[Block]; 3],
    merge_one: &mut dyn FnMut(&Block, &Block, &Block) -> Option<String>,
) -> Option<MergedBlocks> {
    let [base, own, shared] =
        sides.map(|side| side.iter().map(|block| (&*block.id, block)).collect::<HashMap<_, _>>());
    let in_all = |side: &[Block]| -> Vec<String> {
        let ids = side.iter().map(|block| block.id.clone());
        ids.filter(|id| [&base, &own, &shared].iter().all(|side| side.contains_key(&**id))).collect()
    };
    let [base_order, own_order, shared_order] = sides.map(in_all);
    let frame = match (own_order == base_order, shared_order == base_order) {
        (_, true) => sides[1],
        (true, _) => sides[2],
        _ if own_order == shared_order => sides[2],
        _ => return None,
    };
    let mut is_conflict = false;
    let mut kept = HashMap::<&str, Block>::new();
    for block in sides[0] {
        let merged = match (own.get(&*block.id), shared.get(&*block.id)) {
            (None, None) => None,
            (Some(own), Some(shared)) => {
                let content = if own.content == shared.content || own.content == block.content {
                    Some(shared.content.clone())
                } else if shared.content == block.content {
                    Some(own.content.clone())
                } else {
                    merge_one(block, own, shared)
                };
                is_conflict |= content.is_none();
                let gap = if own.gap == block.gap || own.is_last { shared } else { own };
                Some(Block {
                    content: content.unwrap_or_else(|| shared.content.clone()),
                    gap: gap.gap.clone(),
                    is_last: own.is_last && shared.is_last,
                    ..block.clone()
                })
            }
            // Removed on one side: it stays if the other changed it.
            (Some(side), None) | (None, Some(side)) => {
                let is_changed = side.content != block.content;
                is_conflict |= is_changed;
                is_changed.then(|| (*side).clone())
            }
        };
        if let Some(merged) = merged {
            kept.insert(&block.id, merged);
        }
    }
    let mut order: Vec<&str> =
        frame.iter().map(|block| &*block.id).filter(|id| kept.contains_key(id)).collect();
    for (id, _) in base.iter().filter(|(id, _)| kept.contains_key(*id)) {
        if !order.contains(id) {
            insert_after(&mut order, sides[0], id);
        }
    }
    // The shared side's come last here, and so first in the text.
    for side in [sides[1], sides[2]] {
        for block in side.iter().filter(|block| !base.contains_key(&*block.id)) {
            match kept.get(&*block.id) {
                Some(other) if other.content == block.content => continue,
                Some(_) => is_conflict = true,
                None => {}
            }
            if kept.insert(&block.id, block.clone()).is_none() && !order.contains(&&*block.id) {
                insert_after(&mut order, side, &block.id);
            }
        }
    }
    let blocks = order.iter().filter_map(|id| kept.remove(id)).collect();
    Some(MergedBlocks { blocks, is_conflict })
}

/// Inserts `id` into `order` after the nearest block that comes before it in `side`.
fn insert_after<'b>(order: &mut Vec<&'b str>, side: &[Block], id: &'b str) {
    let before = side.iter().take_while(|block| block.id != id);
    let nearest = before.filter_map(|block| order.iter().position(|known| *known == block.id)).last();
    order.insert(nearest.map_or(0, |at| at + 1), id);
}

fn merge_block(base: &Block, own: &Block, shared: &Block) -> Option<String> {
    if base.id.starts_with(FRONT_MATTER) {
        let [b, o, s] = [base, own, shared].map(|block| keys(&block.content));
        let merged = merge_blocks([&b, &o, &s], &mut merge_lines_of)?;
        let ending = ending_of(&shared.content);
        let whole = |block: &Block| match &*block.gap {
            "" => format!("{}{ending}", block.content),
            gap => format!("{}{gap}", block.content),
        };
        let text: String = merged.blocks.iter().map(whole).collect();
        let is_merged = !merged.is_conflict && is_front_matter_kept([&own.content, &shared.content], &text);
        return is_merged.then(|| text.trim_end_matches(['\n', '\r']).to_owned());
    }
    merge_lines_of(base, own, shared)
}

fn merge_lines_of(base: &Block, own: &Block, shared: &Block) -> Option<String> {
    let ending = ending_of(&shared.content);
    let [b, o, s] = [base, own, shared].map(|block| format!("{}{ending}", block.content));
    let merged = merge_lines(&b, &o, &s, Inserts::Both);
    (!merged.is_conflict).then(|| merged.text.trim_end_matches(['\n', '\r']).to_owned())
}

/// Returns true if `text` has only blocks that one of the versions has: a fence that one side opened hides the headings below it.
fn has_blocks_of(text: &str, sides: [&[Block]; 3], flavor: Flavor) -> bool {
    let known: HashSet<_> = sides.into_iter().flatten().map(|block| &*block.id).collect();
    let found = blocks(text, flavor);
    let wanted = |side: &[Block], other: &[Block], base: &[Block]| {
        let has = |side: &[Block], id: &str| side.iter().any(|block| block.id == id);
        side.iter()
            .filter(|block| !has(base, &block.id) || has(other, &block.id))
            .all(|block| has(&found, &block.id))
    };
    let [base, own, shared] = sides;
    found.iter().all(|block| known.contains(&*block.id))
        && wanted(own, shared, base)
        && wanted(shared, own, base)
}

/// Treatment of insertions by both sides at the same place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Inserts {
    /// Both stay, the shared side's first.
    Both,
    Conflict,
}

/// Merges by lines. Where both sides changed the same or adjacent lines differently, the text has the shared side's.
fn merge_lines(base: &str, own: &str, shared: &str, inserts: Inserts) -> Merged {
    let lines: Vec<&str> = base.split_inclusive('\n').collect();
    let [own, shared] = [own, shared].map(|side| Comparison::between(base, side));
    let [mut own_parts, mut shared_parts] =
        [&own, &shared].map(|side| slid_parts(&lines, side).into_iter().peekable());
    let (mut merged, mut at, mut is_conflict) = (Vec::<&str>::new(), 0, false);
    while let Some(order) = compare(own_parts.peek(), shared_parts.peek()) {
        let own_part = own_parts.next_if(|_| order.is_le());
        let shared_part = shared_parts.next_if(|_| order.is_ge());
        let (own_part, shared_part) = match (own_part, shared_part) {
            (Some(own_part), Some(shared_part)) => (own_part, shared_part),
            (one, other) => {
                let side = if one.is_some() { &own } else { &shared };
                let Some(part) = one.or(other) else { break };
                merged.extend(&lines[at..part.old.start]);
                merged.extend(side.replacement(&part));
                at = part.old.end;
                continue;
            }
        };
        let (start, mut end) =
            (own_part.old.start.min(shared_part.old.start), own_part.old.end.max(shared_part.old.end));
        merged.extend(&lines[at..start]);
        at = start;
        let [a, b] = [own.replacement(&own_part), shared.replacement(&shared_part)];
        let is_same_place = own_part.old == shared_part.old;
        if is_same_place && a == b {
            merged.extend(a);
            at = end;
        } else if is_same_place && own_part.old.is_empty() && inserts == Inserts::Both {
            merged.extend(joined_lines(a, b));
        } else {
            is_conflict = true;
            let mut replacing = vec![shared_part];
            loop {
                let is_touching = |part: &Part| part.old.start <= end;
                if let Some(part) = own_parts.next_if(is_touching) {
                    end = end.max(part.old.end);
                } else if let Some(part) = shared_parts.next_if(is_touching) {
                    end = end.max(part.old.end);
                    replacing.push(part);
                } else {
                    break;
                }
            }
            for part in replacing {
                merged.extend(&lines[at..part.old.start]);
                merged.extend(shared.replacement(&part));
                at = part.old.end;
            }
            merged.extend(&lines[at..end]);
            at = end;
        }
    }
    merged.extend(&lines[at..]);
    Merged { text: merged.concat(), is_conflict }
}

/// Returns the parts of a side, each insertion as far down as it goes: one that begins with the line below it could as well begin
/// after that. So an appended item is not cut in two by a line that it has in common with the one above.
pub(super) fn slid_parts(base: &[&str], side: &Comparison<'_>) -> Vec<Part> {
    let mut slid: Vec<Part> = vec![];
    for mut part in side.parts().into_iter().rev() {
        let next = slid.last_mut();
        let end = next.as_ref().map_or(base.len(), |next| next.old.start);
        while part.old.is_empty() && part.old.end < end && side.replacement(&part)[0] == base[part.old.end] {
            part.old = part.old.start + 1..part.old.end + 1;
            part.new = part.new.start + 1..part.new.end + 1;
        }
        match next {
            Some(next) if part.old.end == next.old.start => {
                next.old.start = part.old.start;
                next.new.start = part.new.start;
            }
            _ => slid.push(part),
        }
    }
    slid.reverse();
    slid
}

/// Returns the lines of two insertions at one place, each in one piece: the shared ones first, unless only the own ones continue
/// the paragraph or list item above. Lines with which one ends and the other begins are there once, as are those that one has in it.
fn joined_lines<'t>(own: &[&'t str], shared: &[&'t str]) -> Vec<&'t str> {
    // A blank line ends a paragraph, and further indentation continues an item.
    let place = |lines: &[&str]| {
        let indent = |line: &&str| line.len() - line.trim_start().len();
        let first = lines.iter().find(|line| !line.trim().is_empty());
        (lines[0].trim().is_empty(), Reverse(first.map_or(0, indent)))
    };
    let (first, second) = if place(own) < place(shared) { (own, shared) } else { (shared, own) };
    match (overlap(first, second), overlap(second, first)) {
        (0, count @ 1..) => [second, &first[count..]].concat(),
        (count, _) => [first, &second[count..]].concat(),
    }
}

/// Returns the number of lines with which `second` begins and `first` ends, or of all if `first` has them. Lines that either has
/// twice, such as the fences of two code blocks, are no overlap.
fn overlap(first: &[&str], second: &[&str]) -> usize {
    let Some(at) = first.iter().position(|line| *line == second[0]) else { return 0 };
    let count = second.len().min(first.len() - at);
    let common: HashSet<_> = second[..count].iter().collect();
    let has_twice = |lines: &[&str]| lines.iter().filter(|line| common.contains(line)).count() > count;
    let is_overlap = first[at..at + count] == second[..count] && common.len() == count;
    if is_overlap && !has_twice(first) && !has_twice(second) { count } else { 0 }
}

/// Returns the order of two parts of the base; equal if they touch. `None` if there is neither.
fn compare(own: Option<&Part>, shared: Option<&Part>) -> Option<Ordering> {
    Some(match (own, shared) {
        (None, None) => return None,
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (Some(own), Some(shared)) if own.old.end < shared.old.start => Ordering::Less,
        (Some(own), Some(shared)) if shared.old.end < own.old.start => Ordering::Greater,
        (Some(_), Some(_)) => Ordering::Equal,
    })
}
