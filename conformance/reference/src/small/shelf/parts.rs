//! Parts of a proposal: runs of changed lines, or the sections of a new note.

use similar::{ChangeTag, TextDiff};

use crate::mutant::{Mutant, is};

/// Lines before and after; those that differ are a part.
#[derive(Default)]
struct Segment {
    before: String,
    after: String,
    is_part: bool,
}

/// Returns the content with the parts of these numbers, from 1; `None` unless they are some of the parts, each once.
pub(super) fn taken(before: Option<&str>, after: &str, numbers: &[usize]) -> Option<String> {
    let segments = before.map_or_else(|| sections(after), |before| runs(before, after));
    let all = segments.iter().filter(|segment| segment.is_part).count();
    let mut distinct = numbers.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    let are_known = distinct.iter().all(|number| (1..=all).contains(number));
    if !(are_known && distinct.len() == numbers.len() || is(Mutant::PassesOverUnknownParts))
        || distinct.len() == all
    {
        return None;
    }
    let mut content = String::new();
    let mut next = usize::from(!is(Mutant::CountsPartsFromZero));
    for segment in segments {
        let is_taken = segment.is_part && distinct.contains(&next);
        next += usize::from(segment.is_part);
        content += if is_taken { &segment.after } else { &segment.before };
    }
    Some(content)
}

fn runs(before: &str, after: &str) -> Vec<Segment> {
    let mut segments: Vec<Segment> = Vec::new();
    for change in TextDiff::from_lines(before, after).iter_all_changes() {
        let is_part = change.tag() != ChangeTag::Equal;
        if segments.last().is_none_or(|last| last.is_part != is_part) {
            segments.push(Segment {
                is_part,
                ..Segment::default()
            });
        }
        let Some(last) = segments.last_mut() else { continue };
        if change.tag() != ChangeTag::Insert {
            last.before += change.value();
        }
        if change.tag() != ChangeTag::Delete {
            last.after += change.value();
        }
    }
    segments
}

fn sections(after: &str) -> Vec<Segment> {
    let mut segments: Vec<Segment> = Vec::new();
    for line in after.split_inclusive('\n') {
        if segments.is_empty() || line.starts_with('#') {
            segments.push(Segment {
                is_part: true,
                ..Segment::default()
            });
        }
        if let Some(last) = segments.last_mut() {
            last.after += line;
        }
    }
    segments
}
