//! Defects of texts. Each function has no effect unless the process is its mutant.

use std::ops::Range;

use super::{Mutant, is};

/// Damages the new text of a document.
pub(in super::super) fn damage(text: String) -> String {
    if is(Mutant::NormalisesLineEndings) {
        text.replace("\r\n", "\n")
    } else if is(Mutant::DropsByteOrderMark) {
        text.trim_start_matches('\u{feff}').to_owned()
    } else if is(Mutant::AddsFinalNewline) && !text.is_empty() && !text.ends_with('\n') {
        text + "\n"
    } else if is(Mutant::Formats) {
        text.replace(" \n", "\n").replace("\n* ", "\n- ")
    } else if is(Mutant::DropsUnknownLines) {
        let is_word = |line: &str| line.trim_end().len() > 3 && !line.trim_end().contains(' ');
        text.split_inclusive('\n').filter(|line| !is_word(line)).collect()
    } else {
        text
    }
}

/// Finds headings line by line, ignoring code fences: byte range, level, text.
pub(in super::super) fn headings_by_lines(text: &str) -> impl Iterator<Item = (Range<usize>, u8, String)> {
    let mut end = 0;
    text.split_inclusive('\n').filter_map(move |line| {
        let start = end;
        end += line.len();
        let level = line.bytes().take_while(|byte| *byte == b'#').count();
        let heading = (1..=6).contains(&level) && line[level..].starts_with(' ');
        heading.then(|| (start..end, level as u8, line[level..].trim().to_owned()))
    })
}
