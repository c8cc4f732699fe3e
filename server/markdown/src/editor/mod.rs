//! Sections that come, go, change and move: the four changes of a document as a list of sections.
//!
//! A section is known by its position: the number of headings before its own, so the list is the outline in pre-order. A
//! change is a splice like that of [`super::edit`]: bytes outside of it stay. What a caller gives as a section's content
//! is its own text, without heading and children and without the blank lines around it; those belong to the document and
//! stay where they are, so writing back what was read changes nothing.
//!
//! The result is parsed again, and refused where it is not the same document with one change: where a heading outside of
//! the splice is none any more or a new one appears, where the new section is none, or where content would end the
//! section that it is for.

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
    bounds::{self, TooMuch},
    outline::{Outline, Section},
    outside, seams,
};

/// A document, parsed.
#[derive(Debug)]
pub struct Parsed<'t> {
    /// Its text.
    pub text: &'t str,
    /// How it was parsed.
    pub flavor: Flavor,
    /// Its sections.
    pub outline: Arc<Outline>,
}

impl<'t> Parsed<'t> {
    /// Parses a document.
    ///
    /// # Errors
    /// When it has too much structure for that.
    pub fn new(text: &'t str, flavor: Flavor) -> Result<Self, TooMuch> {
        bounds::check(&[text])?;
        Ok(Self {
            text,
            flavor,
            outline: Arc::new(Outline::parse(text, flavor)),
        })
    }

    /// Its sections, each at its position.
    pub fn sections(&self) -> &[Section] {
        self.outline.sections()
    }

    /// How many sections the one at `position` is with all that stand below it.
    pub fn size(&self, position: usize) -> usize {
        let (sections, end) = (self.sections(), self.sections()[position].end);
        sections.partition_point(|section| section.heading.start < end) - position
    }
}

/// What a change of sections makes of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SectionPlan {
    /// The new text.
    pub text: String,
    /// The outline of the new text.
    pub outline: Arc<Outline>,
    /// Where the section is afterwards; of one that is deleted, where it was.
    pub position: usize,
    /// How many sections come (the new one with those in its content, or those in its new content alone), go, or move.
    pub sections: usize,
}

/// Splices, and fails where the document outside of the splice does not stay what it was.
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

/// Fails where a section that came with content is not below the one of `level` that the content is for.
fn check_below(came: &[Section], text: &str, level: u8) -> Result<(), SectionError> {
    match came.iter().find(|section| section.level <= level) {
        Some(section) => Err(SectionError::ends_section(text, section, level)),
        None => Ok(()),
    }
}
