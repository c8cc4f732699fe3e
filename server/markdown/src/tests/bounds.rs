//! A text with too much structure is refused before it is parsed.

use super::super::bounds::{LimitError, MAX_LINES, MAX_MARKS, check};
use super::super::{Edit, EditError, Flavor, plan};

#[test]
fn the_limits_count_lines_and_marks_of_all_parts() {
    let (lines, marks) = ("\n".repeat(MAX_LINES), "[".repeat(MAX_MARKS));
    let crlf = "\r\n".repeat(MAX_LINES);
    let cases = [
        (vec![&*lines], Ok(())),
        (vec![&*crlf], Ok(())),
        (vec![&*lines, "a\rb"], Err(LimitError::Lines(MAX_LINES + 1))),
        (vec![&*crlf, "\n"], Err(LimitError::Lines(MAX_LINES + 1))),
        (vec![&*marks, "words, and more"], Ok(())),
        (vec![&*marks, "a *b*"], Err(LimitError::Marks(MAX_MARKS + 2))),
    ];
    for (number, (parts, expected)) in cases.iter().enumerate() {
        assert_eq!(check(parts), *expected, "case {number}");
    }
}

#[test]
fn an_edit_refuses_documents_and_contents_over_the_limits() {
    let (much, little) = ("#\n".repeat(MAX_LINES), "# A\n");
    for (old, content) in [(&*much, little), (little, &*much)] {
        let refused = plan(old, Flavor::CommonMark, &Edit::Append { content });
        assert_eq!(refused, Err(EditError::Limit(LimitError::Lines(MAX_LINES + 1))));
    }
}
