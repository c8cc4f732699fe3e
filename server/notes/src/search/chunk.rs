//! Chunks, the parts of a note that are indexed: the sections of its content, with long ones cut into pieces.

use std::ops::Range;

use crate::Note;

/// Maximum bytes of a chunk's text.
pub(crate) const MAX_CHUNK_BYTES: usize = 1600;
/// Separator between headings of a path.
const SEPARATOR: &str = " › ";

/// A part of a note: a section's text without its subsections, or a piece of that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Chunk {
    /// Headings above the text, outermost first, without one that is the note's title.
    pub(crate) headings: Vec<String>,
    /// Its bytes in the note's text, without blanks at the ends.
    pub(crate) text: Range<usize>,
}

impl Chunk {
    pub(crate) fn heading_path(&self) -> String {
        self.headings.join(SEPARATOR)
    }
}

/// Cuts a note. There is at least one chunk, which may be empty.
pub(crate) fn chunks(note: &Note) -> Vec<Chunk> {
    let sections = note.outline.sections();
    let content = note.content_range();
    let mut chunks = vec![];
    let preamble_end = sections.first().map_or(content.end, |section| section.heading.start);
    add(&mut chunks, note, &[], content.start..preamble_end);
    // The headings of the sections that are open, by their number.
    let mut paths: Vec<Vec<String>> = Vec::with_capacity(sections.len());
    for (number, section) in sections.iter().enumerate() {
        let mut path = section.parent.map_or_else(Vec::new, |parent| paths[parent].clone());
        if section.text != note.title && !section.text.trim().is_empty() {
            path.push(section.text.clone());
        }
        let before = chunks.len();
        add(&mut chunks, note, &path, section.heading.end..section.body_end);
        let has_children = sections.get(number + 1).is_some_and(|next| next.parent == Some(number));
        if chunks.len() == before && !has_children && !path.is_empty() {
            // The heading is the only searchable text.
            chunks.push(Chunk { headings: path.clone(), text: section.body_end..section.body_end });
        }
        paths.push(path);
    }
    if chunks.is_empty() {
        chunks.push(Chunk { headings: vec![], text: content.end..content.end });
    }
    chunks
}

/// Adds the text at `range` in pieces of at most [`MAX_CHUNK_BYTES`].
fn add(chunks: &mut Vec<Chunk>, note: &Note, headings: &[String], range: Range<usize>) {
    let mut rest = trimmed(&note.text, range);
    while !rest.is_empty() {
        let cut = rest.start + cut(&note.text[rest.clone()]);
        chunks.push(Chunk { headings: headings.to_vec(), text: trimmed(&note.text, rest.start..cut) });
        rest = trimmed(&note.text, cut..rest.end);
    }
}

/// Returns the end of the first piece of a text: after a paragraph, else a line, else a sentence, else a word, else anywhere.
fn cut(text: &str) -> usize {
    if text.len() <= MAX_CHUNK_BYTES {
        return text.len();
    }
    let most = &text[..text.floor_char_boundary(MAX_CHUNK_BYTES)];
    // Very short pieces match few queries.
    let enough = most.len() / 2;
    let after = |mark: &str| most.rfind(mark).map(|at| at + mark.len()).filter(|end| *end > enough);
    let marks = ["\n\n", "\r\n\r\n", "\n", ". ", " "];
    marks.iter().find_map(|mark| after(mark)).unwrap_or(most.len())
}

fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let part = &text[range.clone()];
    let start = range.start + (part.len() - part.trim_start().len());
    start..start + part.trim().len()
}
