//! The range of a document's front matter.
//!
//! pulldown-cmark's own option is not used, because it matches `---` … `---` anywhere and so swallows headings.

use std::ops::Range;

use crate::lines::BOM;

/// Returns the range of the front matter, including both fence lines and their endings; an empty range at the start of
/// the text if there is none. Front matter follows an optional byte order mark, opens with a line `---` or `+++` and
/// closes with the same line. What ends as YAML documents do, with `...`, is text up to there and behind it. `masked` has no lone `\r`.
pub(crate) fn find(masked: &str) -> Range<usize> {
    let start = if masked.starts_with(BOM) { BOM.len_utf8() } else { 0 };
    let mut lines = masked[start..].split_inclusive('\n');
    let Some(opening) = lines.next() else {
        return start..start;
    };
    let fence = opening.trim_end();
    if fence != "---" && fence != "+++" {
        return start..start;
    }
    let mut end = start + opening.len();
    for line in lines {
        end += line.len();
        match line.trim_end() {
            line if line == fence => return start..end,
            "..." if fence == "---" => break,
            _ => {}
        }
    }
    start..start
}
