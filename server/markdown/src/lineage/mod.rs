//! Lineage: which section is which from one version of a document to the next, and what can be undone.
//!
//! # Where ids come from
//!
//! A section's id is nowhere in the document, and no file maps ids to sections: both could be lost, copied or edited
//! apart from each other. An id follows from the document's history alone. From the first version on, each section is
//! followed to the next version; one that is in no earlier version is new there, and its id is a digest of the history up
//! to that point. Whoever has the same commits (another process, the same one after a restart, a clone) finds the same
//! ids, and nothing is ever written but commits.
//!
//! *Never another section.* The digest covers all contents that the document has had, so that no later version makes an id
//! that an earlier one had. An id that no section of the newest version has is an error, whatever became of it.
//!
//! *One step, exactly.* A commit that the editor made says in its log entry what it did to the list of sections
//! ([`Step`]): where sections came, went or moved. Such a version is followed by counting, without reading a byte of the
//! document, so two sections with the same heading and text are never mixed up, and a long history costs no more than its
//! log. The library gives a step only where the commit holds exactly the change that it was made for, so an amended or
//! rebased commit is followed like one that a person made.
//!
//! *A hand edit, as far as can be told.* Between any other two versions sections are found by what they are
//! ([`matching`]): heading, own text and place in the tree, most alike first and only where that is the case for one
//! section on either side. What is ambiguous is not guessed: the old id is gone and a new one comes.
//!
//! *Not committed yet.* Bytes that a person has not committed are followed from the newest version in the same way. The ids
//! of sections that are new there come from the heading (and from the text, where several new ones have the same heading),
//! so they stay while the person goes on writing, and are those that the section has once it is committed: by the person,
//! or by the next change of ours.
//!
//! # What can be undone
//!
//! The two stacks are read off the same steps ([`undo`]). A step is undone by the version that says so in its own step,
//! and then the sections have the ids they had.
//!
//! # What it costs
//!
//! A [`Lineage`] is worth keeping: it is made of the one before in time that grows with what the new versions changed,
//! plus the number of sections. Only versions that no step explains are read and parsed. Made anew, from the first version
//! on, it is the same.

mod id;
pub mod matching;
mod step;
pub mod undo;

use std::sync::Arc;

use self::id::Seed;
pub use self::{
    id::SectionId,
    matching::Likeness,
    step::Step,
    undo::{Done, UndoError},
};
use super::{Flavor, editor::Parsed};

/// A version of a document: what a commit made of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// Id of the commit.
    pub commit: String,
    /// Id of the content, the same for the same content; `None` where the document went.
    pub content: Option<String>,
    /// What the editor did, if it was the editor and nothing else is in the commit.
    pub step: Option<Step>,
}

/// The sections of a document at one version, and the way there.
#[derive(Debug, Clone)]
pub struct Lineage {
    flavor: Flavor,
    seed: Seed,
    content: Option<String>,
    ids: Vec<SectionId>,
    undo: Vec<Arc<Done>>,
    redo: Vec<Arc<Done>>,
}

impl Lineage {
    /// The lineage of the document at `path` before its first version.
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

    /// Follows the document through `versions`, oldest first. `load` gives the bytes of a content.
    ///
    /// # Errors
    /// Those of `load`. What was followed until then is kept.
    pub fn follow<'v, E>(
        &mut self,
        versions: impl IntoIterator<Item = &'v Version>,
        load: impl Fn(&str) -> Result<Vec<u8>, E>,
    ) -> Result<(), E> {
        // How the sections of the newest version look, as long as that is known.
        let mut looks: Option<Vec<Likeness>> = None;
        for version in versions {
            if self.take(version) {
                looks = None;
            } else {
                let old = match looks.take() {
                    Some(looks) => looks,
                    None => self.load(self.content.as_deref(), &load)?,
                };
                let new = self.load(version.content.as_deref(), &load)?;
                self.ids = self.recognised(&old, &new);
                looks = Some(new);
            }
            self.seed = self.seed.then(version.content.as_deref());
            self.content.clone_from(&version.content);
        }
        Ok(())
    }

    /// Id of the newest version's content; `None` where there is no document.
    pub fn content(&self) -> Option<&str> {
        self.content.as_deref()
    }

    /// The ids of the sections of the newest version, which is `document`.
    pub fn ids(&self, document: &Parsed<'_>) -> Vec<SectionId> {
        if self.ids.len() == document.sections().len() {
            return self.ids.clone();
        }
        // Whoever wrote the history saw other sections in the same text.
        self.recognised(&[], &Likeness::of(document))
    }

    /// The ids of the sections of `document`, which nobody has committed.
    ///
    /// # Errors
    /// Those of `load`.
    pub fn ids_uncommitted<E>(
        &self,
        document: &Parsed<'_>,
        load: impl Fn(&str) -> Result<Vec<u8>, E>,
    ) -> Result<Vec<SectionId>, E> {
        let old = self.load(self.content.as_deref(), &load)?;
        Ok(self.recognised(&old, &Likeness::of(document)))
    }

    /// An id for a section that is new in a version made of `content`, which follows the newest one or is it.
    pub fn fresh(&self, content: Option<&str>) -> SectionId {
        self.seed
            .id(&[b"insert", content.unwrap_or_default().as_bytes()], 0)
    }

    /// How the sections of a content look.
    fn load<E>(
        &self,
        content: Option<&str>,
        load: &impl Fn(&str) -> Result<Vec<u8>, E>,
    ) -> Result<Vec<Likeness>, E> {
        let Some(content) = content else {
            return Ok(Vec::new());
        };
        let bytes = load(content)?;
        let text = String::from_utf8_lossy(&bytes);
        // What has too much structure to be parsed has no sections.
        Ok(Parsed::new(&text, self.flavor).map_or_else(|_| Vec::new(), |document| Likeness::of(&document)))
    }

    /// The ids of `new`, where `old` is how the sections of the newest version look.
    fn recognised(&self, old: &[Likeness], new: &[Likeness]) -> Vec<SectionId> {
        let pairs = if old.len() == self.ids.len() {
            matching::pairs(old, new)
        } else {
            vec![None; new.len()]
        };
        self.seed.born(&pairs, &self.ids, new)
    }

    /// Follows a step; `false` when there is none or it does not fit.
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
