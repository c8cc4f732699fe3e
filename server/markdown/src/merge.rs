//! Merging two changes of one text.
//!
//! [`merge`] takes the lines that only one side changed from that side. [`merge_documents`] is for copies of a document that were
//! changed independently: blocks run from heading to heading and are matched by heading and number, keys of the front matter by
//! name. A block that one side changed is taken from that side; one that both changed is merged by lines, and where both only
//! insert, both insertions stay, the shared side's first. A block that can't be merged keeps the shared side's version and is
//! reported: the caller keeps the other one.

use std::{
    cmp::Ordering,
    collections::{HashMap, HashSet},
};

use diffy::{ConflictStyle, MergeOptions};

use super::{
    Flavor, Outline,
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
    let merged = merge_blocks([&b, &o, &s], &mut merge_block).map(|merged| Merged {
        text: joined(&merged.blocks, ending_of(shared)),
        is_conflict: merged.is_conflict,
    });
    match merged.filter(|merged| has_blocks_of(&merged.text, [&b, &o, &s], flavor)) {
        Some(merged) if !merged.is_conflict => merged,
        // A renamed heading is a block removed and another added, which lines may still tell apart.
        other => match merge_lines(base, own, shared, Inserts::Conflict) {
            Some(text) => clean(&text),
            None => other.unwrap_or(conflict),
        },
    }
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
        return (!merged.is_conflict).then(|| text.trim_end_matches(['\n', '\r']).to_owned());
    }
    merge_lines_of(base, own, shared)
}

fn merge_lines_of(base: &Block, own: &Block, shared: &Block) -> Option<String> {
    let ending = ending_of(&shared.content);
    let [b, o, s] = [base, own, shared].map(|block| format!("{}{ending}", block.content));
    let merged = merge_lines(&b, &o, &s, Inserts::Both)?;
    Some(merged.trim_end_matches(['\n', '\r']).to_owned())
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

/// Merges by lines; `None` if both sides changed the same or adjacent lines differently.
fn merge_lines(base: &str, own: &str, shared: &str, inserts: Inserts) -> Option<String> {
    let [own, shared] = [own, shared].map(|side| Comparison::between(base, side));
    let [mut own_parts, mut shared_parts] = [&own, &shared].map(|side| side.parts().into_iter().peekable());
    let lines: Vec<&str> = base.split_inclusive('\n').collect();
    let (mut merged, mut at) = (Vec::<&str>::new(), 0);
    while let Some(order) = compare(own_parts.peek(), shared_parts.peek()) {
        let own_part = own_parts.next_if(|_| order.is_le());
        let shared_part = shared_parts.next_if(|_| order.is_ge());
        let old = own_part.as_ref().or(shared_part.as_ref())?.old.clone();
        merged.extend(&lines[at..old.start]);
        at = old.end;
        match [(&own, &own_part), (&shared, &shared_part)]
            .map(|(side, part)| Some(side.replacement(part.as_ref()?)))
        {
            [Some(a), Some(b)] if a == b && is_same_place(&own_part, &shared_part) => merged.extend(a),
            [Some(a), Some(b)]
                if inserts == Inserts::Both && old.is_empty() && is_same_place(&own_part, &shared_part) =>
            {
                merged.extend(joined_lines(a, b));
            }
            [Some(_), Some(_)] => return None,
            [one, other] => merged.extend(one.or(other)?),
        }
    }
    merged.extend(&lines[at..]);
    Some(merged.concat())
}

/// Returns the lines of two insertions at one place, the shared ones first; common lines once.
fn joined_lines<'t>(own: &[&'t str], shared: &[&'t str]) -> Vec<&'t str> {
    let [own_text, shared_text] = [own, shared].map(<[&str]>::concat);
    let (mut lines, mut at) = (Vec::new(), 0);
    for part in Comparison::between(&shared_text, &own_text).parts() {
        lines.extend(&shared[at..part.old.end]);
        lines.extend(&own[part.new]);
        at = part.old.end;
    }
    lines.extend(&shared[at..]);
    lines
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

fn is_same_place(own: &Option<Part>, shared: &Option<Part>) -> bool {
    own.as_ref().map(|part| &part.old) == shared.as_ref().map(|part| &part.old)
}
