//! Inserts, deletes, updates and moves sections of a document.
//!
//! A section is identified by its position, the number of headings before its own: the list is the outline in pre-order. A
//! change is a splice as in [`super::edit`]: all other bytes stay. A section's content is its own text, without heading,
//! children and surrounding blank lines; those belong to the document and stay, so that writing back what was read changes
//! nothing.
//!
//! The result is parsed again. A change is refused if the result is not the same document with one change: if it destroys or
//! creates a heading outside of the splice, if the new section is not recognized, or if the content would end its own
//! section.

mod delete;
mod error;
mod insert;
mod relocate;
mod text;
mod update;

use std::sync::Arc;

pub use self::{
    delete::delete, error::SectionError, insert::insert, relocate::relocate, text::content, text::title,
    update::update,
};
use super::{
    Flavor,
    bounds::{self, StructureError},
    outline::{Outline, Section},
    outside, seams,
};

/// A parsed document.
#[derive(Debug)]
pub struct Parsed<'t> {
    /// The text.
    pub text: &'t str,
    /// The dialect.
    pub flavor: Flavor,
    /// The outline.
    pub outline: Arc<Outline>,
}

impl<'t> Parsed<'t> {
    /// Parses a document.
    ///
    /// # Errors
    /// If it has too much structure.
    pub fn new(text: &'t str, flavor: Flavor) -> Result<Self, StructureError> {
        bounds::check(&[text])?;
        Ok(Self {
            text,
            flavor,
            outline: Arc::new(Outline::parse(text, flavor)),
        })
    }

    /// Returns the sections, indexed by position.
    pub fn sections(&self) -> &[Section] {
        self.outline.sections()
    }

    /// Returns the number of sections in the subtree at `position`.
    pub fn size(&self, position: usize) -> usize {
        let (sections, end) = (self.sections(), self.sections()[position].end);
        sections.partition_point(|section| section.heading.start < end) - position
    }
}

/// The planned change of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SectionPlan {
    /// The new text.
    pub text: String,
    /// The outline of the new text.
    pub outline: Arc<Outline>,
    /// Position of the section afterwards; of a deleted one, its former position.
    pub position: usize,
    /// Number of inserted, updated, deleted or moved sections, including those in the content.
    pub sections: usize,
}

/// Splices, and fails if the document outside of the splice would change.
fn splice(
    document: &Parsed<'_>,
    removed: std::ops::Range<usize>,
    content: &str,
) -> Result<seams::Splice, SectionError> {
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

/// Fails if a section in the content is not below the section of `level` to which the content belongs.
fn check_below(came: &[Section], text: &str, level: u8) -> Result<(), SectionError> {
    match came.iter().find(|section| section.level <= level) {
        Some(section) => Err(SectionError::ends_section(text, section, level)),
        None => Ok(()),
    }
}
