//! Unified diffs in git's form: `git apply` turns the old bytes into exactly the new ones.
//!
//! Lines are git's: a line ends at `\n`, and a `\r` is part of it. The lines that both texts start and end with are not
//! compared further, so unchanged parts of a long file cost little. There is no time limit, so a diff depends only on its
//! two texts. Where the search for the shortest diff could take long, the diff replaces all lines between.

use std::collections::HashMap;
use std::fmt::Write;
use std::ops::Range;

use similar::{Algorithm, DiffOp, DiffTag};

/// The number of unchanged lines around a change.
const CONTEXT_LINES: usize = 3;

/// Upper bound of the lines, old and new together, among which the shortest diff is searched for: Myers' algorithm takes
/// time quadratic in their number.
const MAX_SEARCHED_LINES: usize = 10_000;

/// Returns the unified diff of two versions of the file at `path`, prefixed with `a/` and `b/`; the empty string if
/// they are equal.
pub fn unified(path: &str, old: &str, new: &str) -> String {
    LineDiff::between(old, new).unified(path)
}

/// Like [`unified`] for a file that is created or deleted: a missing side (`None`) is `/dev/null`, as in git.
pub fn unified_sides(path: &str, old: Option<&str>, new: Option<&str>) -> String {
    let lines = LineDiff::between(old.unwrap_or_default(), new.unwrap_or_default());
    let name = |side: &str, text: Option<&str>| match text {
        Some(_) => file_name(side, path),
        None => "/dev/null".into(),
    };
    lines.patch(&name("a", old), &name("b", new))
}

/// Returns the numbers of lines that a diff of the two texts adds and removes, in this order.
pub fn line_counts(old: &str, new: &str) -> (usize, usize) {
    LineDiff::between(old, new).counts()
}

/// The lines of two texts, and their differences.
pub(super) struct LineDiff<'t> {
    old: Vec<&'t str>,
    new: Vec<&'t str>,
    ops: Vec<DiffOp>,
}

impl<'t> LineDiff<'t> {
    pub(super) fn between(old: &'t str, new: &'t str) -> Self {
        let old: Vec<&str> = old.split_inclusive('\n').collect();
        let new: Vec<&str> = new.split_inclusive('\n').collect();
        let ops = compare(&old, &new);
        LineDiff { old, new, ops }
    }

    /// Returns the numbers of added and removed lines.
    pub(super) fn counts(&self) -> (usize, usize) {
        let changes = || self.ops.iter().filter(|op| op.tag() != DiffTag::Equal);
        (
            changes().map(|op| op.new_range().len()).sum(),
            changes().map(|op| op.old_range().len()).sum(),
        )
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

/// Returns equal and different runs of lines, in their order.
fn compare(old: &[&str], new: &[&str]) -> Vec<DiffOp> {
    let head = equal_lines(old.iter(), new.iter());
    let tail = equal_lines(old[head..].iter().rev(), new[head..].iter().rev());
    let (old_middle, new_middle) = (&old[head..old.len() - tail], &new[head..new.len() - tail]);

    let mut ops = vec![DiffOp::Equal {
        old_index: 0,
        new_index: 0,
        len: head,
    }];
    ops.extend(
        search(old_middle, new_middle)
            .into_iter()
            .map(|op| shifted(op, head)),
    );
    let (old_index, new_index) = (old.len() - tail, new.len() - tail);
    ops.push(DiffOp::Equal {
        old_index,
        new_index,
        len: tail,
    });
    ops.retain(|op| op.old_range().len() + op.new_range().len() > 0);
    ops
}

fn equal_lines<'l>(old: impl Iterator<Item = &'l &'l str>, new: impl Iterator<Item = &'l &'l str>) -> usize {
    old.zip(new).take_while(|(old, new)| old == new).count()
}

/// Compares lines that start and end differently. Each distinct line becomes a number first, so that the search never
/// compares long lines twice.
fn search<'t>(old: &[&'t str], new: &[&'t str]) -> Vec<DiffOp> {
    if old.is_empty() || new.is_empty() || old.len() + new.len() > MAX_SEARCHED_LINES {
        return vec![DiffOp::Replace {
            old_index: 0,
            old_len: old.len(),
            new_index: 0,
            new_len: new.len(),
        }];
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
        DiffTag::Equal => DiffOp::Equal {
            old_index,
            new_index,
            len: old_len,
        },
        DiffTag::Delete => DiffOp::Delete {
            old_index,
            old_len,
            new_index,
        },
        DiffTag::Insert => DiffOp::Insert {
            old_index,
            new_index,
            new_len,
        },
        DiffTag::Replace => DiffOp::Replace {
            old_index,
            old_len,
            new_index,
            new_len,
        },
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
