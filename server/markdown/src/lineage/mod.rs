//! Lineage: section ids across the versions of a document, and the undo and redo stacks.
//!
//! # Origin of ids
//!
//! Section ids are stored neither in the document nor in a file that maps ids to sections: both could be lost, copied or
//! edited independently of each other. An id is derived from the document's history. Each section of the first version is
//! followed to the next version, and so on; a section that is in no earlier version is new, and its id is a digest of the
//! history up to that point. Every reader of the same commits (another process, the same one after a restart, a clone)
//! derives the same ids, and nothing is written but commits.
//!
//! *An id never changes its section.* The digest covers all contents that the document has had, and the new text, so neither a later
//! version nor a different branch derives the id of a different section. An id that no section of the newest version has is an
//! error, regardless of the reason.
//!
//! *The editor's commits are exact.* The log entry of a commit by the editor records the change of the list of sections
//! ([`SectionChange`]): the positions at which sections were inserted, deleted or moved. Such a version is followed by counting,
//! without reading the document, so two sections with the same heading and text are never mixed up, and a long history costs no
//! more than its log. The library returns a recorded change only if the commit contains exactly that change, so an amended or
//! rebased commit is followed like a person's commit.
//!
//! *Hand edits are matched.* Between any other two versions sections are matched by their features ([`matching`]): heading,
//! own text and position in the tree, the most similar first, and only if the match is unique on both sides. An ambiguous
//! section is not guessed: its old id vanishes, and it gets a new one.
//!
//! *Uncommitted bytes* are matched with the newest version in the same way. The id of a new section is derived from its heading,
//! those above it and its text: it stays while the person writes elsewhere, and also after the section is committed, by the
//! person or by the editor's next change. If the person goes on writing in the section itself, nothing in the document tells it
//! from a different section; it is matched with the sections that were listed last ([`Listed`]). A process that has not listed
//! them, or has restarted since, derives a new id, and the old one is an error there.
//!
//! # Undo and redo
//!
//! The two stacks are derived from the same recorded changes ([`undo`]). The version that undoes a change records that; then the
//! sections have their former ids again, also where a person's edit of other lines is kept.
//!
//! # Costs
//!
//! A [`Lineage`] is worth caching: extending it takes time that grows with the changes of the new versions, plus the number of
//! sections. Only versions without a recorded change are read and parsed. Built again from the first version, it is equal, but for
//! ids that were kept since a listing.

mod change;
mod id;
pub mod matching;
pub mod undo;

use std::{collections::HashSet, sync::Arc};

use self::id::HistoryDigest;
pub use self::{
    change::SectionChange,
    id::SectionId,
    matching::Fingerprint,
    undo::{Direction, UndoEntry, UndoError},
};
use super::{Flavor, editor::ParsedDocument};

/// A version of a document, made by one commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// The id of the commit.
    pub commit: String,
    /// The id of the content; `None` if the commit deleted the document.
    pub content: Option<String>,
    /// The recorded change, if the editor made the commit and it contains only this change.
    pub change: Option<SectionChange>,
}

/// The sections of a document that is not committed, as they were listed.
#[derive(Debug)]
pub struct Listed {
    /// Their ids.
    pub ids: Vec<SectionId>,
    sections: Vec<Fingerprint>,
    /// The history at that time.
    history_digest: HistoryDigest,
}

/// Sections that come back.
struct Returning {
    /// A content that has them.
    content: Option<String>,
    /// The position of the first in that content.
    position: usize,
    /// Their ids.
    ids: Vec<SectionId>,
}

impl Returning {
    /// Restores the former ids of the returning sections. `now` are the ids of the version's sections, `before` those of the
    /// version before it, and `pairs` the positions of its sections in [`content`](Self::content). An id that a section has kept is
    /// not given twice.
    fn restore_ids(&self, now: &mut [SectionId], before: &[SectionId], pairs: &[Option<usize>]) {
        let kept: HashSet<SectionId> = now.iter().copied().collect();
        for (id, pair) in now.iter_mut().zip(pairs) {
            let index = pair.and_then(|position| position.checked_sub(self.position));
            if let Some(former) = index.and_then(|index| self.ids.get(index))
                && !before.contains(id)
                && !kept.contains(former)
            {
                *id = *former;
            }
        }
    }
}

/// The relation of a version's sections to those of the version before.
enum Followed {
    /// By the recorded change alone.
    Counted,
    /// By their features; some may come back.
    Matched(Option<Returning>),
}

/// The section ids and undo stacks of a document at one version.
#[derive(Debug, Clone)]
pub struct Lineage {
    flavor: Flavor,
    history_digest: HistoryDigest,
    content: Option<String>,
    ids: Vec<SectionId>,
    undo: Vec<Arc<UndoEntry>>,
    redo: Vec<Arc<UndoEntry>>,
}

impl Lineage {
    /// Returns the lineage of the document at `path` before its first version.
    pub fn new(path: &str) -> Self {
        Self {
            flavor: Flavor::of_path(path),
            history_digest: HistoryDigest::of_document(path),
            content: None,
            ids: Vec::new(),
            undo: Vec::new(),
            redo: Vec::new(),
        }
    }

    /// Follows the document through `versions`, oldest first. `listed` are the sections that were listed last, if they were not
    /// committed; `load` returns the bytes of a content.
    ///
    /// # Errors
    /// If `load` fails. The lineage then includes the versions before.
    pub fn follow<'v, E>(
        &mut self,
        versions: impl IntoIterator<Item = &'v Version>,
        listed: Option<&Listed>,
        load: impl Fn(&str) -> Result<Vec<u8>, E>,
    ) -> Result<(), E> {
        // The fingerprints of the newest version, if they are known.
        let mut fingerprints: Option<Vec<Fingerprint>> = None;
        for version in versions {
            let cached = fingerprints.take();
            if let Followed::Matched(returning) = self.apply(version) {
                let old = match cached {
                    Some(fingerprints) => fingerprints,
                    None => self.load(self.content.as_deref(), &load)?,
                };
                let new = self.load(version.content.as_deref(), &load)?;
                let matched = self.match_ids(&old, &new, listed);
                let before = std::mem::replace(&mut self.ids, matched);
                if let Some(returning) = returning {
                    let former = self.load(returning.content.as_deref(), &load)?;
                    returning.restore_ids(&mut self.ids, &before, &matching::pairs(&former, &new));
                }
                fingerprints = Some(new);
            }
            self.history_digest = self.history_digest.after_version(version.content.as_deref());
            self.content.clone_from(&version.content);
        }
        Ok(())
    }

    /// Returns the id of the newest version's content; `None` if there is no document.
    pub fn content(&self) -> Option<&str> {
        self.content.as_deref()
    }

    /// Returns the section ids of the newest version, whose text is `document`.
    pub fn ids(&self, document: &ParsedDocument<'_>) -> Vec<SectionId> {
        if self.ids.len() == document.sections().len() {
            return self.ids.clone();
        }
        // The history was written by a version of the editor that parsed this text differently.
        self.match_ids(&[], &Fingerprint::for_sections(document), None)
    }

    /// Returns the sections of `document`, which is not committed yet. `listed` are those that were listed last.
    ///
    /// # Errors
    /// If `load` fails.
    pub fn ids_uncommitted<E>(
        &self,
        document: &ParsedDocument<'_>,
        listed: Option<&Listed>,
        load: impl Fn(&str) -> Result<Vec<u8>, E>,
    ) -> Result<Listed, E> {
        let old = self.load(self.content.as_deref(), &load)?;
        let sections = Fingerprint::for_sections(document);
        let ids = self.match_ids(&old, &sections, listed);
        Ok(Listed { ids, sections, history_digest: self.history_digest })
    }

    /// Returns an unused id for a section that is inserted into `content`, which is the newest version's or uncommitted: a digest that
    /// includes the new text, since other branches and machines insert other sections into the same content. The id stays the same
    /// when an uncommitted content is committed.
    pub fn new_id(&self, content: Option<&str>, text: &str) -> SectionId {
        let is_committed = content == self.content();
        let digest = self.history_digest;
        let digest = if is_committed { digest } else { digest.after_version(content) };
        digest.id(&[b"insert", content.unwrap_or_default().as_bytes(), text.as_bytes()], 0)
    }

    /// Returns the fingerprints of a content's sections.
    fn load<E>(
        &self,
        content: Option<&str>,
        load: &impl Fn(&str) -> Result<Vec<u8>, E>,
    ) -> Result<Vec<Fingerprint>, E> {
        let Some(content) = content else {
            return Ok(Vec::new());
        };
        let bytes = load(content)?;
        let text = String::from_utf8_lossy(&bytes);
        // A text with too much structure to be parsed counts as one without sections.
        Ok(ParsedDocument::new(&text, self.flavor)
            .map_or_else(|_| Vec::new(), |document| Fingerprint::for_sections(&document)))
    }

    /// Returns the ids of the sections `new`: those of the newest version, whose fingerprints are `old`, then those of the same
    /// sections in `listed`, unless there are versions since, and new ones.
    fn match_ids(&self, old: &[Fingerprint], new: &[Fingerprint], listed: Option<&Listed>) -> Vec<SectionId> {
        let mut known = vec![None; new.len()];
        if old.len() == self.ids.len() {
            take_ids(&mut known, &matching::pairs(old, new), &self.ids);
        }
        if let Some(listed) = listed.filter(|listed| listed.history_digest == self.history_digest) {
            take_ids(&mut known, &matching::pairs(&listed.sections, new), &listed.ids);
        }
        self.history_digest.assign_ids(&known, new)
    }

    /// Applies the recorded change of `version`, if there is one that fits the list of sections.
    fn apply(&mut self, version: &Version) -> Followed {
        match &version.change {
            None => Followed::Matched(None),
            Some(SectionChange::Undo { undoes }) => self.apply_step(Direction::Undo, undoes, version),
            Some(SectionChange::Redo { redoes }) => self.apply_step(Direction::Redo, redoes, version),
            Some(change) if self.apply_change(change, version) => Followed::Counted,
            Some(_) => Followed::Matched(None),
        }
    }
}

/// Gives the sections that have no id yet those of their pairs in `ids`, but none twice.
fn take_ids(known: &mut [Option<SectionId>], pairs: &[Option<usize>], ids: &[SectionId]) {
    let mut used: HashSet<SectionId> = known.iter().flatten().copied().collect();
    for (known, pair) in known.iter_mut().zip(pairs) {
        if known.is_none() {
            *known = pair.map(|index| ids[index]).filter(|id| used.insert(*id));
        }
    }
}

#[cfg(test)]
mod tests;
