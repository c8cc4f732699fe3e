//! Differing lines, in the same numbers as git's.
//!
//! As in git, lines that are absent from the other file are removed before the search for the shortest edit of the rest, and so are
//! lines that are very frequent in it, such as empty ones and braces, if they are among absent ones.

use std::{collections::HashMap, ops::Range};

use memchr::memchr_iter;

use super::myers::{edit, rough_root};

/// Upper bound of the number of occurrences in the other file from which a line counts as common.
const MAX_COMMON: usize = 1024;

/// Number of lines around a common one that decide on its removal.
const WINDOW: usize = 100;

/// Replaced lines, from 0. One of the ranges may be empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineRange {
    /// Lines of the old file.
    pub old: Range<usize>,
    /// Lines of the new file.
    pub new: Range<usize>,
}

/// Returns the numbers of new and of removed lines.
pub(super) fn count(old: &[u8], new: &[u8]) -> (u64, u64) {
    if old.is_empty() || new.is_empty() {
        return (number_of_lines(new), number_of_lines(old));
    }
    let differing = Differing::between(old, new);
    let count = |lines: &[bool]| lines.iter().filter(|differs| **differs).count() as u64;
    (count(&differing.new), count(&differing.old))
}

/// Returns the ranges of lines that differ, in order.
pub fn line_ranges(old: &[u8], new: &[u8]) -> Vec<LineRange> {
    Differing::between(old, new).ranges()
}

/// Returns the number of lines; the last one may have no line end.
fn number_of_lines(text: &[u8]) -> u64 {
    let ends = memchr_iter(b'\n', text).count() as u64;
    ends + u64::from(text.last().is_some_and(|byte| *byte != b'\n'))
}

/// For each line of both files, true if it differs.
struct Differing {
    old: Vec<bool>,
    new: Vec<bool>,
}

impl Differing {
    fn between(old: &[u8], new: &[u8]) -> Self {
        let mut numbers = HashMap::new();
        let mut number = |line| {
            let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
            *numbers.entry(line).or_insert(next)
        };
        let old: Vec<u32> = lines(old).map(&mut number).collect();
        let new: Vec<u32> = lines(new).map(&mut number).collect();
        let mut differing = Self { old: vec![false; old.len()], new: vec![false; new.len()] };
        let same = |(one, other): &(&u32, &u32)| one == other;
        let start = old.iter().zip(&new).take_while(same).count();
        let rest = old[start..].iter().rev().zip(new[start..].iter().rev());
        let end = rest.take_while(same).count();
        let counts = [occurrences(&old, numbers.len()), occurrences(&new, numbers.len())];
        let kept_old = keep(&old, start..old.len() - end, &counts[1], &mut differing.old);
        let kept_new = keep(&new, start..new.len() - end, &counts[0], &mut differing.new);
        let line = |lines: &[u32], kept: &[usize]| kept.iter().map(|at| lines[*at]).collect::<Vec<_>>();
        let Self { old: removed, new: added } = &mut differing;
        edit(
            &line(&old, &kept_old),
            &line(&new, &kept_new),
            |at| removed[kept_old[at]] = true,
            |at| added[kept_new[at]] = true,
        );
        differing
    }

    fn ranges(&self) -> Vec<LineRange> {
        let (mut old, mut new) = (0, 0);
        let mut ranges = Vec::new();
        while old < self.old.len() || new < self.new.len() {
            let end = |differs: &[bool], at: usize| {
                at + differs[at..].iter().take_while(|differs| **differs).count()
            };
            let range = LineRange { old: old..end(&self.old, old), new: new..end(&self.new, new) };
            (old, new) = (range.old.end, range.new.end);
            if !range.old.is_empty() || !range.new.is_empty() {
                ranges.push(range);
            }
            // The lines after a range are the same.
            old += 1;
            new += 1;
        }
        ranges
    }
}

/// Returns the lines of a text with their line ends.
fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split_inclusive(|byte| *byte == b'\n')
}

fn occurrences(lines: &[u32], numbers: usize) -> Vec<usize> {
    let mut counts = vec![0; numbers];
    for line in lines {
        counts[*line as usize] += 1;
    }
    counts
}

/// Frequency of a line in the other file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Frequency {
    Never,
    Sometimes,
    /// So often that its position is not significant.
    Often,
}

/// Returns the indices of the lines in `part` that take part in the search for the shortest edit. Marks the others there.
fn keep(lines: &[u32], part: Range<usize>, in_other: &[usize], differs: &mut [bool]) -> Vec<usize> {
    let often = rough_root(lines.len()).min(MAX_COMMON);
    let frequency = |line: &u32| match in_other[*line as usize] {
        0 => Frequency::Never,
        count if count >= often => Frequency::Often,
        _ => Frequency::Sometimes,
    };
    let frequencies: Vec<_> = lines[part.clone()].iter().map(frequency).collect();
    let mut kept = Vec::new();
    for (at, frequency) in frequencies.iter().enumerate() {
        let is_kept = match frequency {
            Frequency::Never => false,
            Frequency::Sometimes => true,
            Frequency::Often => !is_among_differing(&frequencies, at),
        };
        if is_kept {
            kept.push(part.start + at);
        } else {
            differs[part.start + at] = true;
        }
    }
    kept
}

/// Returns true if the lines around `at`, on each side up to one that the other file sometimes has, are mostly ones that it never has.
fn is_among_differing(frequencies: &[Frequency], at: usize) -> bool {
    let before = frequencies[at.saturating_sub(WINDOW)..at].iter().rev();
    let after = frequencies[at + 1..frequencies.len().min(at + 1 + WINDOW)].iter();
    let (never_before, often_before) = run(before);
    let (never_after, often_after) = run(after);
    if never_before == 0 || never_after == 0 {
        return false;
    }
    // The line itself counts on both sides.
    let often = often_before + often_after + 2;
    often * 4 < often + never_before + never_after
}

/// Returns the numbers of lines that the other file never has, and often has, before the first one that it sometimes has.
fn run<'f>(frequencies: impl Iterator<Item = &'f Frequency>) -> (usize, usize) {
    let (mut never, mut often) = (0, 0);
    for frequency in frequencies {
        match frequency {
            Frequency::Never => never += 1,
            Frequency::Often => often += 1,
            Frequency::Sometimes => break,
        }
    }
    (never, often)
}

#[cfg(test)]
#[path = "lines_tests.rs"]
mod tests;
