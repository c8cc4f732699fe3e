//! Texts with too much structure are refused before they are parsed.

use super::super::bounds::{MAX_LINES, MAX_MARKS, StructureError, check};
use super::super::{Edit, EditError, Flavor, plan};

#[test]
fn lines_and_marks_are_counted_in_all_parts() {
    let (lines, marks) = ("\n".repeat(MAX_LINES), "[".repeat(MAX_MARKS));
    let crlf = "\r\n".repeat(MAX_LINES);
    let cases = [
        (vec![&*lines], Ok(())),
        (vec![&*crlf], Ok(())),
        (vec![&*lines, "a\rb"], Err(StructureError::Lines(MAX_LINES + 1))),
        (vec![&*crlf, "\n"], Err(StructureError::Lines(MAX_LINES + 1))),
        (vec![&*marks, "words, and more"], Ok(())),
        (vec![&*marks, "a *b*"], Err(StructureError::Marks(MAX_MARKS + 2))),
    ];
    for (number, (parts, expected)) in cases.iter().enumerate() {
        assert_eq!(check(parts), *expected, "case {number}");
    }
}

#[test]
fn an_edit_of_too_much_or_with_too_much_is_refused() {
    let (much, little) = ("#\n".repeat(MAX_LINES), "# A\n");
    for (old, content) in [(&*much, little), (little, &*much)] {
        let refused = plan(old, Flavor::CommonMark, &Edit::Append { content });
        assert_eq!(
            refused,
            Err(EditError::Structure(StructureError::Lines(MAX_LINES + 1)))
        );
    }
}
