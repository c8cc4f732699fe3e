//! Moves a section.

use std::{ops::Range, sync::Arc};

use super::super::{lines, seams, section::Section, splice::Splice};
use super::{ParsedDocument, SectionError, SectionPlan, text};

/// Moves the section at `position`, with all sections below it, to `new_position`.
///
/// The moved bytes are unchanged, and the blank lines between sections, and those at the document's end, stay in place. A blank
/// line is added where a block would otherwise change.
///
/// # Errors
/// If the new position is not possible, or the move would alter the structure of the document otherwise.
///
/// # Panics
/// If there is no section at `position`.
pub fn relocate(
    document: &ParsedDocument<'_>,
    position: usize,
    new_position: usize,
) -> Result<SectionPlan, SectionError> {
    let (text, sections) = (document.text, document.sections());
    let size = document.subtree_size(position);
    let max = sections.len() - size;
    if new_position > max {
        return Err(SectionError::Position { position: new_position, max, moved: size });
    }
    if new_position == position {
        return Ok(SectionPlan {
            text: text.into(),
            outline: Arc::clone(&document.outline),
            position,
            sections: size,
        });
    }
    let start = |index: usize| sections.get(index).map_or(text.len(), |section| section.heading.start);
    // The sections between the old and the new position move the other way.
    let exchange = if new_position < position {
        Exchange::new(sections, new_position..position, position..position + size, start)
    } else {
        let end = new_position + size;
        Exchange::new(sections, position..position + size, position + size..end, start)
    };
    let (first, gap) = split_gap(&text[exchange.first_bytes()]);
    let (second, end) = split_gap(&text[exchange.second_bytes()]);
    let attempt = |more: &str| {
        let start = [second, gap, more].concat();
        let piece = [&start, first, end].concat();
        let removed = exchange.start..exchange.end;
        let done = seams::splice(text, &document.outline, document.flavor, removed, &piece);
        match exchange.first_changed(document, &done, start.len()) {
            None => Ok(SectionPlan {
                text: done.text,
                outline: done.outline.into(),
                position: new_position,
                sections: size,
            }),
            Some(section) => Err(SectionError::swallows(text, section)),
        }
    };
    attempt("").or_else(|error| attempt(lines::ending_of(text)).map_err(|_| error))
}

/// Splits the line endings at its end from a run of sections.
fn split_gap(run: &str) -> (&str, &str) {
    run.split_at(run.trim_end_matches(text::ENDING).len())
}

/// Two adjacent runs of sections that swap places.
struct Exchange {
    first: Range<usize>,
    second: Range<usize>,
    start: usize,
    middle: usize,
    end: usize,
}

impl Exchange {
    fn new(
        sections: &[Section],
        first: Range<usize>,
        second: Range<usize>,
        start: impl Fn(usize) -> usize,
    ) -> Self {
        debug_assert!(first.end == second.start && second.end <= sections.len());
        Self { start: start(first.start), middle: start(second.start), end: start(second.end), first, second }
    }

    fn first_bytes(&self) -> Range<usize> {
        self.start..self.middle
    }

    fn second_bytes(&self) -> Range<usize> {
        self.middle..self.end
    }

    /// Returns the first section whose heading the exchange changes, if any. `offset` is the distance from the new start of
    /// the second run to the new start of the first.
    fn first_changed<'s>(
        &self,
        document: &'s ParsedDocument<'_>,
        done: &Splice,
        offset: usize,
    ) -> Option<&'s Section> {
        let sections = document.sections();
        let piece = &done.text[done.inserted.clone()];
        // Both runs start with a heading, so the splice added all bytes before it.
        let added = piece.len() - piece.trim_start_matches(['\n', '\r']).len();
        let base = done.inserted.start + added;
        let expected = (0..self.first.start)
            .chain(self.second.clone())
            .chain(self.first.clone())
            .chain(self.second.end..sections.len());
        let expected_start = |index: usize| {
            let start = sections[index].heading.start;
            if self.first.contains(&index) {
                start - self.start + base + offset
            } else if self.second.contains(&index) {
                start - self.middle + base
            } else {
                done.moved(start)
            }
        };
        let after = done.outline.sections();
        let mut found = after.iter();
        for index in expected {
            let same = found.next().is_some_and(|new| {
                new.heading.start == expected_start(index) && new.level == sections[index].level
            });
            if !same {
                return Some(&sections[index]);
            }
        }
        match found.next() {
            // There is one section too many.
            Some(_) => sections.last(),
            None => None,
        }
    }
}
