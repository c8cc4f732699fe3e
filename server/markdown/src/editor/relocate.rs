//! Moves a section.

use std::{ops::Range, sync::Arc};

use super::super::{lines, outline::Section, seams};
use super::{Parsed, SectionError, SectionPlan};

/// Moves the section at `position`, with its children, so that its new position is `new_position`.
///
/// Its bytes do not change. Only line endings are added between it and its new neighbours: one where lines would join, and a
/// blank line where a block would otherwise change.
///
/// # Errors
/// [`SectionError`].
///
/// # Panics
/// If there is no section at `position`.
pub fn relocate(
    document: &Parsed<'_>,
    position: usize,
    new_position: usize,
) -> Result<SectionPlan, SectionError> {
    let (text, sections) = (document.text, document.sections());
    let size = document.size(position);
    let most = sections.len() - size;
    if new_position > most {
        return Err(SectionError::Position {
            position: new_position,
            most,
            moved: size,
        });
    }
    if new_position == position {
        return Ok(SectionPlan {
            text: text.into(),
            outline: Arc::clone(&document.outline),
            position,
            sections: size,
        });
    }
    let start = |index: usize| {
        sections
            .get(index)
            .map_or(text.len(), |section| section.heading.start)
    };
    // The sections between the old and the new position move the other way.
    let exchange = if new_position < position {
        Exchange::new(sections, new_position..position, position..position + size, start)
    } else {
        let end = new_position + size;
        Exchange::new(sections, position..position + size, position + size..end, start)
    };
    let (first, second) = (&text[exchange.second_bytes()], &text[exchange.first_bytes()]);
    let ending = lines::ending_of(text);
    let fewest = usize::from(lines::glue(first, second));
    let attempt = |endings: usize| {
        let seam = ending.repeat(endings);
        let piece = [first, &seam, second].concat();
        let removed = exchange.start..exchange.end;
        let done = seams::splice(text, &document.outline, document.flavor, removed, &piece);
        match exchange.disturbs(document, &done, first.len() + seam.len()) {
            None => Ok(SectionPlan {
                text: done.text,
                outline: done.outline.into(),
                position: new_position,
                sections: size,
            }),
            Some(section) => Err(SectionError::swallows(text, section)),
        }
    };
    attempt(fewest).or_else(|error| attempt(fewest + 1).map_err(|_| error))
}

/// Two adjacent runs of sections to exchange.
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
        Self {
            start: start(first.start),
            middle: start(second.start),
            end: start(second.end),
            first,
            second,
        }
    }

    fn first_bytes(&self) -> Range<usize> {
        self.start..self.middle
    }

    fn second_bytes(&self) -> Range<usize> {
        self.middle..self.end
    }

    /// Returns the first section that the exchange changes; `None` if there is none. `offset` is the distance from the second
    /// run to the first one afterwards.
    fn disturbs<'s>(
        &self,
        document: &'s Parsed<'_>,
        done: &seams::Splice,
        offset: usize,
    ) -> Option<&'s Section> {
        let sections = document.sections();
        let piece = &done.text[done.inserted.clone()];
        // Both runs start with a heading, so the splice added what precedes.
        let added = piece.len() - piece.trim_start_matches(['\n', '\r']).len();
        let base = done.inserted.start + added;
        let expected = (0..self.first.start)
            .chain(self.second.clone())
            .chain(self.first.clone())
            .chain(self.second.end..sections.len());
        let place = |index: usize| {
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
            let same = found
                .next()
                .is_some_and(|new| new.heading.start == place(index) && new.level == sections[index].level);
            if !same {
                return Some(&sections[index]);
            }
        }
        match found.next() {
            // One section too many, so the last one is new.
            Some(_) => sections.last(),
            None => None,
        }
    }
}
