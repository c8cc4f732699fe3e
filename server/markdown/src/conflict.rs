//! Finds merge conflicts that git left in a document. Their `=======` makes a heading of the line above it.

use super::{Flavor, code_ranges, lines};

/// A conflict between two versions of a document, with both between git's markers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("lines {first} to {last} are a merge conflict that was not resolved")]
pub struct UnresolvedConflict {
    /// The line of the first marker, counted from 1.
    pub first: usize,
    /// The line of the last marker.
    pub last: usize,
}

/// Returns the first unresolved conflict of a text. One within code is an example.
pub fn unresolved_conflict(text: &str, flavor: Flavor) -> Option<UnresolvedConflict> {
    if !text.contains("<<<<<<<") {
        return None;
    }
    let masked = lines::mask_lone_cr(text);
    let mut code = None;
    let (mut start, mut divider, mut position) = (None, false, 0);
    for line in masked.split_inclusive('\n') {
        let end = position + line.len();
        match line.trim_end_matches(['\r', '\n']) {
            line if is_marker(line, "<<<<<<<") => (start, divider) = (Some(position), false),
            "=======" => divider = start.is_some(),
            line if divider && is_marker(line, ">>>>>>>") => {
                let first = start.take()?;
                divider = false;
                let code = code.get_or_insert_with(|| code_ranges(&masked, flavor));
                if !code.iter().any(|code| code.start <= first && end <= code.end) {
                    let [first, last] = [first, position].map(|position| lines::number(&masked, position));
                    return Some(UnresolvedConflict { first, last });
                }
            }
            _ => {}
        }
        position = end;
    }
    None
}

/// Returns true if a line is the marker, alone or before a label.
fn is_marker(line: &str, marker: &str) -> bool {
    line.strip_prefix(marker).is_some_and(|label| label.is_empty() || label.starts_with(' '))
}
