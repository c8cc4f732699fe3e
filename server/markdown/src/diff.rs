//! Differences of two texts: the parts that can be taken or left, changed words, and unified diffs in git's form, which `git apply`
//! turns into exactly the new bytes.
//!
//! Lines are git's: a line ends at `\n`, and a `\r` is part of it. The lines that both texts start and end with are not
//! compared further, so unchanged parts of a long file cost little. There is no time limit, so a diff depends only on its
//! two texts. Where the search for the shortest diff could take long, the diff replaces all lines between.

use std::collections::HashMap;
use std::fmt::Write;
use std::ops::Range;

use similar::{Algorithm, DiffOp, DiffTag};

use super::{Flavor, Outline};

/// The number of unchanged lines around a change.
const CONTEXT_LINES: usize = 3;

/// Upper bound of the lines, old and new together, among which the shortest diff is searched for: Myers' algorithm takes
/// time quadratic in their number.
const MAX_SEARCHED_LINES: usize = 10_000;

/// Returns the unified diff of two versions of the file at `path`, prefixed with `a/` and `b/`; the empty string if
/// they are equal.
pub fn unified(path: &str, old: &str, new: &str) -> String {
    Comparison::between(old, new).unified(path)
}

/// Like [`unified`] for a file that is created or deleted: a missing side (`None`) is `/dev/null`, as in git.
pub fn unified_sides(path: &str, old: Option<&str>, new: Option<&str>) -> String {
    let lines = Comparison::between(old.unwrap_or_default(), new.unwrap_or_default());
    let name = |side: &str, text: Option<&str>| match text {
        Some(_) => file_name(side, path),
        None => "/dev/null".into(),
    };
    lines.patch(&name("a", old), &name("b", new))
}

/// Like [`unified_sides`] for files that may not be UTF-8: the lines of the diff have their bytes.
pub fn unified_bytes(path: &str, old: Option<&[u8]>, new: Option<&[u8]>) -> Vec<u8> {
    let [old_text, new_text] = [old, new].map(|side| side.map(str::from_utf8).transpose());
    if let (Ok(old), Ok(new)) = (old_text, new_text) {
        return unified_sides(path, old, new).into_bytes();
    }
    // One character for each byte has the same lines, and all else in a patch is ASCII.
    let [old, new] =
        [old, new].map(|side| side.map(|bytes| bytes.iter().copied().map(char::from).collect::<String>()));
    let patch = unified_sides(path, old.as_deref(), new.as_deref());
    patch.chars().filter_map(|c| u8::try_from(c).ok()).collect()
}

/// Returns the numbers of lines that a diff of the two texts adds and removes, in this order.
pub fn line_counts(old: &str, new: &str) -> (usize, usize) {
    Comparison::between(old, new).counts()
}

/// A maximal run of changed lines. An empty range marks the position at which the other's lines were added or removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Lines of the old text, from 0.
    pub old: Range<usize>,
    /// Lines of the new text, from 0.
    pub new: Range<usize>,
}

/// The lines of two texts, and their differences.
#[derive(Debug)]
pub struct Comparison<'t> {
    old: Vec<&'t str>,
    new: Vec<&'t str>,
    ops: Vec<DiffOp>,
}

impl<'t> Comparison<'t> {
    /// Compares two texts.
    pub fn between(old: &'t str, new: &'t str) -> Self {
        let old: Vec<&str> = old.split_inclusive('\n').collect();
        let new: Vec<&str> = new.split_inclusive('\n').collect();
        let ops = compare(&old, &new);
        Comparison { old, new, ops }
    }

    /// Returns the runs of changed lines, in their order, with at least one unchanged line between two of them.
    pub fn parts(&self) -> Vec<Part> {
        let mut parts: Vec<Part> = vec![];
        for op in self.ops.iter().filter(|op| op.tag() != DiffTag::Equal) {
            match parts.last_mut() {
                Some(last)
                    if last.old.end == op.old_range().start && last.new.end == op.new_range().start =>
                {
                    last.old.end = op.old_range().end;
                    last.new.end = op.new_range().end;
                }
                _ => parts.push(Part { old: op.old_range(), new: op.new_range() }),
            }
        }
        parts
    }

    /// Returns the old text with the parts for whose index `is_taken` is true: with all of them it is the new text, with none the
    /// old one, byte for byte.
    pub fn take(&self, is_taken: impl Fn(usize) -> bool) -> String {
        let (mut text, mut at) = (String::new(), 0);
        for (index, part) in self.parts().into_iter().enumerate() {
            text.extend(self.old[at..part.old.start].iter().copied());
            let side = if is_taken(index) { &self.new[part.new] } else { &self.old[part.old.clone()] };
            text.extend(side.iter().copied());
            at = part.old.end;
        }
        text.extend(self.old[at..].iter().copied());
        text
    }

    /// Returns the new lines of a part.
    pub(super) fn replacement(&self, part: &Part) -> &[&'t str] {
        &self.new[part.new.clone()]
    }

    /// Returns the numbers of added and removed lines.
    pub(super) fn counts(&self) -> (usize, usize) {
        let changes = || self.ops.iter().filter(|op| op.tag() != DiffTag::Equal);
        (changes().map(|op| op.new_range().len()).sum(), changes().map(|op| op.old_range().len()).sum())
    }

    /// Returns the diff as a patch of the file at `path`.
    pub(super) fn unified(&self, path: &str) -> String {
        self.patch(&file_name("a", path), &file_name("b", path))
    }

    /// Returns the diff as a patch from the file `old` to the file `new`.
    fn patch(&self, old: &str, new: &str) -> String {
        let mut patch = String::new();
        for hunk in similar::group_diff_ops(self.ops.clone(), CONTEXT_LINES) {
            if patch.is_empty() {
                patch = format!("--- {old}\n+++ {new}\n");
            }
            self.hunk(&hunk, &mut patch);
        }
        patch
    }

    fn hunk(&self, ops: &[DiffOp], patch: &mut String) {
        let (Some(first), Some(last)) = (ops.first(), ops.last()) else {
            return;
        };
        let old = position(first.old_range().start..last.old_range().end);
        let new = position(first.new_range().start..last.new_range().end);
        // Writing to a string cannot fail.
        let _ = writeln!(patch, "@@ -{old} +{new} @@");
        for op in ops {
            if op.tag() == DiffTag::Equal {
                lines(' ', &self.old[op.old_range()], patch);
            } else {
                lines('-', &self.old[op.old_range()], patch);
                lines('+', &self.new[op.new_range()], patch);
            }
        }
    }
}

/// Lines with more bytes have no changed words.
const MAX_WORDS_BYTES: usize = 4_000;
/// Parts of two lines that are equal must be this much of both, in hundredths, for their words to be compared.
const MIN_ALIKE: usize = 45;
/// Equal runs of up to so many bytes join the adjacent changes, if one of these is longer.
const MAX_JOINED: usize = 6;

/// Returns the byte ranges of the changed words of two lines; none if the lines have too little in common, or are equal or very long.
pub fn words(old: &str, new: &str) -> (Vec<Range<usize>>, Vec<Range<usize>>) {
    if old == new || old.len().max(new.len()) > MAX_WORDS_BYTES {
        return (vec![], vec![]);
    }
    let (old_words, new_words) = (split_words(old), split_words(new));
    let texts = |line: &'_ str, words: &[Range<usize>]| -> Vec<String> {
        words.iter().map(|word| line[word.clone()].to_owned()).collect()
    };
    let ops =
        similar::capture_diff_slices(Algorithm::Myers, &texts(old, &old_words), &texts(new, &new_words));
    let bytes = |words: &[Range<usize>], range: Range<usize>, end: usize| {
        let place = |index: usize| words.get(index).map_or(end, |word| word.start);
        place(range.start)..place(range.end)
    };
    let mut runs: Vec<(bool, Range<usize>, Range<usize>)> = vec![];
    for op in &ops {
        let is_equal = op.tag() == DiffTag::Equal;
        let (old, new) =
            (bytes(&old_words, op.old_range(), old.len()), bytes(&new_words, op.new_range(), new.len()));
        match runs.last_mut() {
            Some((last, last_old, last_new)) if *last == is_equal => {
                last_old.end = old.end;
                last_new.end = new.end;
            }
            _ => runs.push((is_equal, old, new)),
        }
    }
    let equal: usize = runs.iter().filter(|run| run.0).map(|run| run.1.len()).sum();
    if equal * 2 * 100 < (old.len() + new.len()) * MIN_ALIKE {
        return (vec![], vec![]);
    }
    let longest =
        |run: Option<&(bool, Range<usize>, Range<usize>)>| run.map_or(0, |run| run.1.len().max(run.2.len()));
    let joins: Vec<bool> = (0..runs.len())
        .map(|index| {
            let (is_equal, old, _) = &runs[index];
            let beside = longest(index.checked_sub(1).and_then(|before| runs.get(before)))
                .max(longest(runs.get(index + 1)));
            let is_between = index > 0 && index + 1 < runs.len();
            !is_equal || is_between && old.len() <= MAX_JOINED && old.len() < beside
        })
        .collect();
    let (mut old_ranges, mut new_ranges): (Vec<Range<usize>>, Vec<Range<usize>>) = (vec![], vec![]);
    let add = |ranges: &mut Vec<Range<usize>>, range: &Range<usize>| match ranges.last_mut() {
        Some(last) if last.end == range.start => last.end = range.end,
        _ if range.is_empty() => {}
        _ => ranges.push(range.clone()),
    };
    for (_, (_, old, new)) in joins.iter().zip(&runs).filter(|(joins, _)| **joins) {
        add(&mut old_ranges, old);
        add(&mut new_ranges, new);
    }
    (old_ranges, new_ranges)
}

/// Splits a line into words, and signs that are not part of a word.
fn split_words(line: &str) -> Vec<Range<usize>> {
    let mut words: Vec<Range<usize>> = vec![];
    let mut in_word = false;
    for (start, sign) in line.char_indices() {
        let end = start + sign.len_utf8();
        let is_part = sign.is_alphanumeric() || sign == '_';
        match words.last_mut() {
            Some(last) if is_part && in_word => last.end = end,
            _ => words.push(start..end),
        }
        in_word = is_part;
    }
    words
}

/// Returns the lines of each section of a new text, in their order; together they are all of it. Front matter is a section, and so
/// is the text before the first heading.
pub fn sections(text: &str) -> Vec<Range<usize>> {
    let outline = Outline::parse(text, Flavor::CommonMark);
    let line_of = |byte: usize| text[..byte].matches('\n').count();
    let lines = text.split_inclusive('\n').count();
    let starts = outline.sections().iter().map(|section| line_of(section.heading.start));
    let mut starts: Vec<_> = [0, line_of(outline.front_matter().end)].into_iter().chain(starts).collect();
    starts.sort_unstable();
    starts.dedup();
    starts.push(lines);
    let ranges = starts.windows(2).map(|pair| pair[0]..pair[1]);
    ranges.filter(|range| !range.is_empty()).collect()
}

/// Returns equal and different runs of lines, in their order.
fn compare(old: &[&str], new: &[&str]) -> Vec<DiffOp> {
    let head = equal_lines(old.iter(), new.iter());
    let tail = equal_lines(old[head..].iter().rev(), new[head..].iter().rev());
    let (old_middle, new_middle) = (&old[head..old.len() - tail], &new[head..new.len() - tail]);

    let mut ops = vec![DiffOp::Equal { old_index: 0, new_index: 0, len: head }];
    ops.extend(search(old_middle, new_middle).into_iter().map(|op| shifted(op, head)));
    let (old_index, new_index) = (old.len() - tail, new.len() - tail);
    ops.push(DiffOp::Equal { old_index, new_index, len: tail });
    ops.retain(|op| op.old_range().len() + op.new_range().len() > 0);
    ops
}

fn equal_lines<'l>(old: impl Iterator<Item = &'l &'l str>, new: impl Iterator<Item = &'l &'l str>) -> usize {
    old.zip(new).take_while(|(old, new)| old == new).count()
}

/// Compares lines that start and end differently. Each distinct line becomes a number first: the search never compares long lines twice.
fn search<'t>(old: &[&'t str], new: &[&'t str]) -> Vec<DiffOp> {
    if old.is_empty() || new.is_empty() || old.len() + new.len() > MAX_SEARCHED_LINES {
        return vec![DiffOp::Replace { old_index: 0, old_len: old.len(), new_index: 0, new_len: new.len() }];
    }
    let mut numbers = HashMap::new();
    let mut numbered = |lines: &[&'t str]| -> Vec<usize> {
        let number = |line: &&'t str| {
            let next = numbers.len();
            *numbers.entry(*line).or_insert(next)
        };
        lines.iter().map(number).collect()
    };
    let (old, new) = (numbered(old), numbered(new));
    similar::capture_diff_slices(Algorithm::Myers, &old, &new)
}

/// Returns the operation shifted by `lines` lines.
fn shifted(op: DiffOp, lines: usize) -> DiffOp {
    let (old_index, new_index) = (op.old_range().start + lines, op.new_range().start + lines);
    let (old_len, new_len) = (op.old_range().len(), op.new_range().len());
    match op.tag() {
        DiffTag::Equal => DiffOp::Equal { old_index, new_index, len: old_len },
        DiffTag::Delete => DiffOp::Delete { old_index, old_len, new_index },
        DiffTag::Insert => DiffOp::Insert { old_index, new_index, new_len },
        DiffTag::Replace => DiffOp::Replace { old_index, old_len, new_index, new_len },
    }
}

/// Formats a range of lines for a hunk header: its first line, counted from 1, and its length unless that is 1. An empty
/// range gives the line before it.
fn position(lines: Range<usize>) -> String {
    match lines.len() {
        0 => format!("{},0", lines.start),
        1 => format!("{}", lines.start + 1),
        count => format!("{},{count}", lines.start + 1),
    }
}

fn lines(mark: char, lines: &[&str], patch: &mut String) {
    for line in lines {
        patch.push(mark);
        patch.push_str(line);
        if !line.ends_with('\n') {
            patch.push_str("\n\\ No newline at end of file\n");
        }
    }
}

/// Formats a path as git does in a patch: in quotes and with C escapes if it contains a control character, a quote, a
/// backslash or a byte beyond ASCII, and followed by a tab if it contains a space.
fn file_name(side: &str, path: &str) -> String {
    let mut quoted = format!("\"{side}/");
    let mut plain = true;
    for byte in path.bytes() {
        let escape = match byte {
            b'"' | b'\\' => format!("\\{}", char::from(byte)),
            0x07 => "\\a".into(),
            0x08 => "\\b".into(),
            b'\t' => "\\t".into(),
            b'\n' => "\\n".into(),
            0x0b => "\\v".into(),
            0x0c => "\\f".into(),
            b'\r' => "\\r".into(),
            0..0x20 | 0x7f.. => format!("\\{byte:03o}"),
            _ => {
                quoted.push(char::from(byte));
                continue;
            }
        };
        quoted.push_str(&escape);
        plain = false;
    }
    quoted.push('"');
    let name = if plain { format!("{side}/{path}") } else { quoted };
    if path.contains(' ') { name + "\t" } else { name }
}
