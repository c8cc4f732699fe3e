//! Lineage: the identity of sections across versions of a document, and what can be undone.
//!
//! # Where ids come from
//!
//! A section's id is not in the document, and no file maps ids to sections: both could be lost, copied or edited
//! independently. An id is derived from the document's history alone. From the first version on, each section is followed to
//! the next version; a section that is in no earlier version is new, and its id is a digest of the history up to there. Every
//! process with the same commits (another process, the same one after a restart, a clone) derives the same ids, and only commits
//! are ever written.
//!
//! *Never another section.* The digest covers all contents that the document has had, so a later version never creates an id
//! that an earlier one had. An id that no section of the newest version has is an error.
//!
//! *One step, exactly.* The log entry of a commit made by the editor says what it did to the list of sections ([`Step`]):
//! where sections were inserted, deleted or moved. Such a version is followed by counting, without reading the document, so
//! sections with the same heading and text are never confused, and a long history costs no more than its log. The library
//! provides a step only if the commit contains exactly its change, so an amended or rebased commit is followed like a
//! person's.
//!
//! *An edit by hand, as far as it can be recognized.* Between any other two versions, sections are matched by heading, own
//! text and parent ([`matching`]), the most similar first, and only if the match is unique on both sides. Ambiguous sections
//! are not guessed: they get new ids.
//!
//! *Uncommitted.* Bytes that a person has not committed are followed from the newest version in the same way. The ids of new
//! sections are derived from the heading (and from the text, if several new ones have the same heading), so they stay while
//! the person continues writing, and after the bytes are committed by the person or by the next change.
//!
//! # What can be undone
//!
//! The two stacks are derived from the same steps ([`undo`]). The version that undoes a step says so in its own step, and the
//! sections then have their former ids.
//!
//! # What it costs
//!
//! A [`Lineage`] should be cached: updating it takes time proportional to the changes of the new versions plus the number of
//! sections. Only versions without a step are read and parsed. Recomputing it from the first version gives the same result.

mod id;
pub mod matching;
mod step;
pub mod undo;

use std::sync::Arc;

use self::id::Seed;
pub use self::{
    id::SectionId,
    matching::Features,
    step::Step,
    undo::{UndoError, UndoableStep},
};
use super::{Flavor, editor::Parsed};

/// A version of a document, made by a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// Id of the commit.
    pub commit: String,
    /// Content id; `None` if the document was deleted.
    pub content: Option<String>,
    /// The editor's step, if the commit contains nothing else.
    pub step: Option<Step>,
}

/// The sections of a document at one version, derived from its history.
#[derive(Debug, Clone)]
pub struct Lineage {
    flavor: Flavor,
    seed: Seed,
    content: Option<String>,
    ids: Vec<SectionId>,
    undo: Vec<Arc<UndoableStep>>,
    redo: Vec<Arc<UndoableStep>>,
}

impl Lineage {
    /// Returns the lineage of the document at `path` before its first version.
    pub fn new(path: &str) -> Self {
        Self {
            flavor: Flavor::of_path(path),
            seed: Seed::of_document(path),
            content: None,
            ids: Vec::new(),
            undo: Vec::new(),
            redo: Vec::new(),
        }
    }

    /// Follows the document through `versions`, oldest first. `load` returns the bytes of a content.
    ///
    /// # Errors
    /// Those of `load`. The versions followed until then are kept.
    pub fn follow<'v, E>(
        &mut self,
        versions: impl IntoIterator<Item = &'v Version>,
        load: impl Fn(&str) -> Result<Vec<u8>, E>,
    ) -> Result<(), E> {
        // The features of the newest version's sections, if they are known.
        let mut features: Option<Vec<Features>> = None;
        for version in versions {
            if self.take(version) {
                features = None;
            } else {
                let old = match features.take() {
                    Some(features) => features,
                    None => self.load(self.content.as_deref(), &load)?,
                };
                let new = self.load(version.content.as_deref(), &load)?;
                self.ids = self.recognised(&old, &new);
                features = Some(new);
            }
            self.seed = self.seed.then(version.content.as_deref());
            self.content.clone_from(&version.content);
        }
        Ok(())
    }

    /// Returns the content id of the newest version; `None` if there is no document.
    pub fn content(&self) -> Option<&str> {
        self.content.as_deref()
    }

    /// Returns the section ids of the newest version, which is `document`.
    pub fn ids(&self, document: &Parsed<'_>) -> Vec<SectionId> {
        if self.ids.len() == document.sections().len() {
            return self.ids.clone();
        }
        // The history was written by a parser that saw other sections in this text.
        self.recognised(&[], &Features::of(document))
    }

    /// Returns the section ids of the uncommitted `document`.
    ///
    /// # Errors
    /// Those of `load`.
    pub fn ids_uncommitted<E>(
        &self,
        document: &Parsed<'_>,
        load: impl Fn(&str) -> Result<Vec<u8>, E>,
    ) -> Result<Vec<SectionId>, E> {
        let old = self.load(self.content.as_deref(), &load)?;
        Ok(self.recognised(&old, &Features::of(document)))
    }

    /// Returns an id for a new section in a version based on `content`, which is the newest version or follows it.
    pub fn fresh(&self, content: Option<&str>) -> SectionId {
        self.seed
            .id(&[b"insert", content.unwrap_or_default().as_bytes()], 0)
    }

    /// Returns the features of a content's sections.
    fn load<E>(
        &self,
        content: Option<&str>,
        load: &impl Fn(&str) -> Result<Vec<u8>, E>,
    ) -> Result<Vec<Features>, E> {
        let Some(content) = content else {
            return Ok(Vec::new());
        };
        let bytes = load(content)?;
        let text = String::from_utf8_lossy(&bytes);
        // A text with too much structure has no sections.
        Ok(Parsed::new(&text, self.flavor).map_or_else(|_| Vec::new(), |document| Features::of(&document)))
    }

    /// Returns the ids of `new`, where `old` are the features of the newest version's sections.
    fn recognised(&self, old: &[Features], new: &[Features]) -> Vec<SectionId> {
        let pairs = if old.len() == self.ids.len() {
            matching::pairs(old, new)
        } else {
            vec![None; new.len()]
        };
        self.seed.born(&pairs, &self.ids, new)
    }

    /// Follows a step; returns `false` if there is none or it does not fit.
    fn take(&mut self, version: &Version) -> bool {
        let Some(step) = &version.step else { return false };
        match step {
            Step::Undo { undoes } => self.undone(undoes, version),
            Step::Redo { redoes } => self.redone(redoes, version),
            step => self.done(step, version),
        }
    }
}

#[cfg(test)]
mod tests;
