//! Compares the expected and the actual content of a document, line by line.

use similar::{Algorithm, DiffTag};

use crate::judgement::Difference;

/// Number of equal lines to show around a difference.
const CONTEXT_LINES: usize = 3;

/// A line of a diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line<'a> {
    /// Omitted lines; the next line has these numbers in the expected and the actual content.
    Gap(usize, usize),
    /// A line of both.
    Same(&'a str),
    /// A missing line.
    Expected(&'a str),
    /// An additional line.
    Found(&'a str),
    /// The line before does not end with a newline.
    NoNewline,
    /// This many more lines are omitted.
    More(usize),
}

/// Returns a remark to show before the lines, if one of the files should not exist or is missing.
pub fn remark(difference: &Difference) -> Option<&'static str> {
    match (&difference.expected, &difference.found) {
        (None, Some(found)) if found.is_empty() => Some("the file should not exist; it is empty"),
        (None, Some(_)) => Some("the file should not exist; it holds"),
        (Some(_), None) => Some("the file does not exist; it should hold"),
        (None, None) => Some("the file should not exist"),
        (Some(expected), Some(found)) if expected == found => Some("the text is the same; the bytes are not"),
        _ => None,
    }
}

/// Returns the lines of a diff, about `most` of them at most.
pub fn lines<'a>(difference: &'a Difference, most: usize) -> Vec<Line<'a>> {
    let split = |text: &'a Option<String>| -> Vec<&'a str> {
        text.as_deref().unwrap_or_default().split_inclusive('\n').collect()
    };
    let (expected, found) = (split(&difference.expected), split(&difference.found));
    let ops = similar::capture_diff_slices(Algorithm::Myers, &expected, &found);
    let mut all = Vec::new();
    for group in similar::group_diff_ops(ops, CONTEXT_LINES) {
        if let Some(first) = group.first() {
            let (old, new) = (first.old_range().start, first.new_range().start);
            if old > 0 || new > 0 {
                all.push(Line::Gap(old + 1, new + 1));
            }
        }
        for op in &group {
            let (old, new) = (&expected[op.old_range()], &found[op.new_range()]);
            match op.tag() {
                DiffTag::Equal => old.iter().for_each(|text| push(&mut all, Line::Same, text)),
                // With equal line counts, each expected line is shown next to the actual one.
                DiffTag::Replace if old.len() == new.len() => {
                    for (old, new) in old.iter().zip(new) {
                        push(&mut all, Line::Expected, old);
                        push(&mut all, Line::Found, new);
                    }
                }
                _ => {
                    old.iter().for_each(|text| push(&mut all, Line::Expected, text));
                    new.iter().for_each(|text| push(&mut all, Line::Found, text));
                }
            }
        }
    }
    if all.len() > most {
        let more = all.len() - most;
        all.truncate(most);
        all.push(Line::More(more));
    }
    all
}

fn push<'a>(all: &mut Vec<Line<'a>>, kind: impl Fn(&'a str) -> Line<'a>, text: &'a str) {
    let line = text.strip_suffix('\n');
    all.push(kind(line.unwrap_or(text)));
    if line.is_none() {
        all.push(Line::NoNewline);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference(expected: Option<&str>, found: Option<&str>) -> Difference {
        Difference {
            path: "a.md".into(),
            expected: expected.map(str::to_owned),
            found: found.map(str::to_owned),
        }
    }

    #[test]
    fn a_missing_final_newline_is_a_line() {
        let difference = difference(Some("a\r\nb\n"), Some("a\nb"));
        use Line::{Expected, Found, NoNewline};
        let all = [Expected("a\r"), Found("a"), Expected("b"), Found("b"), NoNewline];
        assert_eq!(lines(&difference, 99), all);
        assert_eq!(lines(&difference, 2), [Expected("a\r"), Found("a"), Line::More(3)]);
    }

    #[test]
    fn lines_far_from_a_difference_are_omitted() {
        let text: String = (1..=20).map(|line| format!("{line}\n")).collect();
        let difference = difference(Some(&text), Some(&text.replace("12\n", "12 \n")));
        let lines = lines(&difference, 99);
        assert_eq!((lines.len(), &lines[0]), (9, &Line::Gap(9, 9)));
        assert_eq!(remark(&difference), None);
    }

    #[test]
    fn a_missing_side_has_a_remark() {
        let difference = difference(None, Some(""));
        assert_eq!(remark(&difference), Some("the file should not exist; it is empty"));
        assert_eq!(lines(&difference, 9), []);
    }
}
