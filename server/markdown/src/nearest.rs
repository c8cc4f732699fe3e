//! Which headings a mistyped target may have meant.

use super::outline::Section;
use super::slug;

/// How many headings are suggested at most.
const MOST: usize = 5;

/// How many characters of a heading are compared, so that a distance costs a bounded amount of work.
const COMPARED: usize = 64;

/// Returns the sections whose headings are most like `text`, the most similar first, at most five.
///
/// Compared are slugs, so case and punctuation don't count. A heading is like the text when at most a third of the
/// text's characters (or two of them) need to be changed, or when one contains the other.
pub(super) fn sections<'s>(sections: &'s [Section], text: &str) -> Vec<&'s Section> {
    let wanted = comparable(text);
    if wanted.is_empty() {
        return vec![];
    }
    let limit = (wanted.len() / 3).max(2);
    let mut near: Vec<(usize, &Section)> = sections
        .iter()
        .filter_map(|section| {
            let heading = comparable(&section.text);
            let distance = distance(&wanted, &heading);
            (distance <= limit || contains(&heading, &wanted) || contains(&wanted, &heading))
                .then_some((distance, section))
        })
        .collect();
    near.sort_by_key(|&(distance, _)| distance);
    near.into_iter().take(MOST).map(|(_, section)| section).collect()
}

/// Returns the start of a text's slug, without the hyphens around it.
fn comparable(text: &str) -> Vec<char> {
    slug::base(text)
        .trim_matches('-')
        .chars()
        .take(COMPARED)
        .collect()
}

/// Whether `text` contains `part`, a part long enough to mean something.
fn contains(text: &[char], part: &[char]) -> bool {
    part.len() >= 3 && text.windows(part.len()).any(|window| window == part)
}

/// Returns how many characters must be inserted, removed or replaced to make `left` of `right` (Levenshtein).
fn distance(left: &[char], right: &[char]) -> usize {
    let mut above: Vec<usize> = (0..=right.len()).collect();
    for (row, l) in left.iter().enumerate() {
        let mut diagonal = above[0];
        above[0] = row + 1;
        for (column, r) in right.iter().enumerate() {
            let replaced = diagonal + usize::from(l != r);
            diagonal = above[column + 1];
            above[column + 1] = replaced.min(diagonal + 1).min(above[column] + 1);
        }
    }
    above[right.len()]
}
