//! Suggestions for a mistyped section target.

use super::section::Section;
use super::slug;

/// Upper bound of the suggested headings.
const MAX_SUGGESTIONS: usize = 5;

/// Upper bound of the compared characters of a heading, which bounds the cost of a distance.
const MAX_COMPARED_CHARS: usize = 64;

/// Returns the sections whose headings are most similar to `text`, the most similar first, at most five.
///
/// Slugs are compared, so case and punctuation are ignored. A heading is similar if the edit distance is at most a third
/// of the text's length (or 2), or if one contains the other.
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
    near.into_iter().take(MAX_SUGGESTIONS).map(|(_, section)| section).collect()
}

/// Returns the start of a text's slug, without hyphens at either end.
fn comparable(text: &str) -> Vec<char> {
    slug::base(text).trim_matches('-').chars().take(MAX_COMPARED_CHARS).collect()
}

/// Returns true if `text` contains `part`, and `part` has at least three characters.
fn contains(text: &[char], part: &[char]) -> bool {
    part.len() >= 3 && text.windows(part.len()).any(|window| window == part)
}

/// Returns the Levenshtein distance.
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
