//! The editor of sections: inserts, deletes, updates and moves one section of a document.
//!
//! A section is identified by its position, the number of headings before its own; the list of sections is the outline in
//! pre-order. A change is a splice like that of [`super::edit`]: bytes outside it stay. A section's content is its own text,
//! without its heading, its children and the blank lines around it. Blank lines belong to the document and stay, so writing back
//! content unchanged has no effect.
//!
//! The result is parsed again. It is refused if a heading outside the splice vanishes or appears, if the new heading is not
//! parsed as a heading, or if a heading in the content would end the section.

mod delete;
mod error;
mod insert;
mod relocate;
mod text;
mod update;

use std::{ops::Range, sync::Arc};

pub use self::{
    delete::delete, error::SectionError, insert::insert, relocate::relocate, text::content,
    text::content_with_children, text::title, update::update,
};
use super::{
    Flavor,
    bounds::{self, LimitError},
    outline::Outline,
    outside, seams,
    section::Section,
    splice::Splice,
};

/// A document with its outline.
#[derive(Debug)]
pub struct ParsedDocument<'t> {
    /// The document's text.
    pub text: &'t str,
    /// The dialect it was parsed as.
    pub flavor: Flavor,
    /// The outline of the text.
    pub outline: Arc<Outline>,
}

impl<'t> ParsedDocument<'t> {
    /// Parses a document.
    ///
    /// # Errors
    /// If it has too much structure to be parsed.
    pub fn new(text: &'t str, flavor: Flavor) -> Result<Self, LimitError> {
        bounds::check(&[text])?;
        Ok(Self { text, flavor, outline: Arc::new(Outline::parse(text, flavor)) })
    }

    /// Returns the sections, indexed by position.
    pub fn sections(&self) -> &[Section] {
        self.outline.sections()
    }

    /// Returns the number of sections in the subtree of the section at `position`, including itself.
    pub fn subtree_size(&self, position: usize) -> usize {
        let (sections, end) = (self.sections(), self.sections()[position].end);
        sections.partition_point(|section| section.heading.start < end) - position
    }
}

/// The result of a change to a section, not yet written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SectionPlan {
    /// The new text.
    pub text: String,
    /// The outline of the new text.
    pub outline: Arc<Outline>,
    /// The section's new position; a deleted section's old position.
    pub position: usize,
    /// The number of inserted sections (for an update, those in the new content), of deleted, or of moved sections.
    pub sections: usize,
}

impl SectionPlan {
    /// Returns the other sections that the plan puts below a different heading. `moved` has the positions in `document` of the sections
    /// that it moves; none for an insertion.
    pub fn adopted(&self, document: &ParsedDocument<'_>, moved: &Range<usize>) -> Vec<&Section> {
        let sections = self.outline.sections();
        let own = self.position..self.position + self.sections;
        let parents = parents(document.sections(), moved).into_iter().zip(parents(sections, &own));
        let others = sections.iter().enumerate().filter(|(at, _)| !own.contains(at));
        others
            .zip(parents)
            .filter(|(_, (before, after))| before != after)
            .map(|((_, section), _)| section)
            .collect()
    }
}

/// Returns the parent of each section outside of `own`: its number among these, or that of all sections for one of `own`.
fn parents(sections: &[Section], own: &Range<usize>) -> Vec<Option<usize>> {
    let (mut above, mut parents) = (Vec::<(u8, usize)>::new(), vec![]);
    for (at, section) in sections.iter().enumerate() {
        while above.pop_if(|(level, _)| *level >= section.level).is_some() {}
        let number = if own.contains(&at) { sections.len() } else { parents.len() };
        if !own.contains(&at) {
            parents.push(above.last().map(|(_, parent)| *parent));
        }
        above.push((section.level, number));
    }
    parents
}

/// Replaces a range with content.
///
/// # Errors
/// If a heading outside the range vanishes or appears.
fn splice(
    document: &ParsedDocument<'_>,
    removed: Range<usize>,
    content: &str,
) -> Result<Splice, SectionError> {
    bounds::check(&[document.text, content])?;
    let (before, flavor) = (&document.outline, document.flavor);
    let splice = seams::splice(document.text, before, flavor, removed, content);
    let (lost, gained) = outside::headings(before, &splice);
    if let Some(lost) = lost.first() {
        return Err(SectionError::swallows(document.text, lost));
    }
    if let Some(gained) = gained.first() {
        return Err(SectionError::reveals(&splice.text, gained));
    }
    Ok(splice)
}

/// Checks that the sections in the content are below the section of `level` whose content it is.
fn check_below(added: &[Section], text: &str, level: u8) -> Result<(), SectionError> {
    match added.iter().find(|section| section.level <= level) {
        Some(section) => Err(SectionError::ends_section(text, section, level)),
        None => Ok(()),
    }
}
