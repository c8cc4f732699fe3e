//! The undo and redo stacks.
//!
//! Both are derived from the versions alone: a change is pushed onto the undo stack and clears the redo stack, an undo moves
//! the top of the undo stack to the redo stack, a redo moves it back. Any other version leaves both as they are: an undo
//! compares the document's content with the entry's, and so detects such a version.

use std::sync::Arc;

use super::{Lineage, SectionChange, SectionId, Version};

/// A change that can be undone or redone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoEntry {
    /// The commit that first made the change.
    pub commit: String,
    /// The change of the list of sections.
    pub change: SectionChange,
    /// The sections that the change added.
    added: Vec<SectionId>,
    /// The sections that the change removed.
    removed: Vec<SectionId>,
    /// The id of the content before; `None` if there was no document.
    pub before: Option<String>,
    /// The id of the content after; `None` if the document was deleted.
    pub after: Option<String>,
}

/// An undo or redo is not possible.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UndoError {
    /// The stack is empty.
    #[error("there is nothing to {word}")]
    Nothing {
        /// The operation: undo or redo.
        word: &'static str,
    },
    /// The document's content has changed since.
    #[error(
        "the document has been changed by other means since the last {}, so there is no {word} without losing that; change \
         it back first (`git log -p` shows how), or edit on from here",
        change.operation()
    )]
    Changed {
        /// The operation: undo or redo.
        word: &'static str,
        /// The change at the top of the stack.
        change: Box<SectionChange>,
        /// The commit of that change.
        commit: String,
    },
}

impl Lineage {
    /// Returns the change to undo, if the document's content is `now`. Undoing it restores the entry's `before`.
    ///
    /// # Errors
    /// If the stack is empty, or the content is not the entry's `after`.
    pub fn next_undo(&self, now: Option<&str>) -> Result<&UndoEntry, UndoError> {
        next(&self.undo, now, stringify!(undo), |done| &done.after)
    }

    /// Returns the change to redo, if the document's content is `now`. Redoing it restores the entry's `after`.
    ///
    /// # Errors
    /// If the stack is empty, or the content is not the entry's `before`.
    pub fn next_redo(&self, now: Option<&str>) -> Result<&UndoEntry, UndoError> {
        next(&self.redo, now, stringify!(redo), |done| &done.before)
    }

    /// Applies a change other than undo and redo; returns false if it does not fit the list of sections.
    pub(super) fn apply_change(&mut self, change: &SectionChange, version: &Version) -> bool {
        let added = match change {
            SectionChange::Insert {
                section_id, sections, ..
            } => {
                let below = (1..*sections).map(|number| {
                    self.history_digest
                        .id(&[b"below", section_id.to_string().as_bytes()], number)
                });
                std::iter::once(*section_id).chain(below).collect()
            }
            SectionChange::Update {
                section_id, sections, ..
            } => (1..=*sections)
                .map(|number| {
                    self.history_digest
                        .id(&[b"below", section_id.to_string().as_bytes()], number)
                })
                .collect(),
            _ => Vec::new(),
        };
        // The other ids are derived from the history, and so are new.
        let taken = added.first().is_some_and(|id| self.ids.contains(id));
        if taken || !fits(change, self.ids.len()) {
            return false;
        }
        let removed = apply(change, &mut self.ids, &added);
        self.undo.push(Arc::new(UndoEntry {
            commit: version.commit.clone(),
            change: change.clone(),
            added,
            removed,
            before: self.content.clone(),
            after: version.content.clone(),
        }));
        self.redo.clear();
        true
    }

    pub(super) fn apply_undo(&mut self, commit: &str, version: &Version) -> bool {
        let Some(done) = self.undo.pop_if(|done| {
            done.commit == commit && done.after == self.content && done.before == version.content
        }) else {
            return false;
        };
        revert(&done.change, &mut self.ids, &done.removed);
        self.redo.push(done);
        true
    }

    pub(super) fn apply_redo(&mut self, commit: &str, version: &Version) -> bool {
        let Some(done) = self.redo.pop_if(|done| {
            done.commit == commit && done.before == self.content && done.after == version.content
        }) else {
            return false;
        };
        apply(&done.change, &mut self.ids, &done.added);
        self.undo.push(done);
        true
    }
}

fn next<'l>(
    stack: &'l [Arc<UndoEntry>],
    now: Option<&str>,
    word: &'static str,
    expected: impl Fn(&UndoEntry) -> &Option<String>,
) -> Result<&'l UndoEntry, UndoError> {
    let done = stack.last().ok_or(UndoError::Nothing { word })?;
    if expected(done).as_deref() == now {
        return Ok(done);
    }
    Err(UndoError::Changed {
        word,
        change: Box::new(done.change.clone()),
        commit: done.commit.clone(),
    })
}

/// Returns true if the change can apply to a list of `length` sections.
fn fits(change: &SectionChange, length: usize) -> bool {
    let within = |position: usize, sections: usize| {
        sections > 0 && position.checked_add(sections).is_some_and(|end| end <= length)
    };
    match *change {
        SectionChange::Insert {
            position, sections, ..
        } => position <= length && sections > 0,
        SectionChange::Delete {
            position, sections, ..
        } => within(position, sections),
        SectionChange::Update { position, .. } => position < length,
        SectionChange::Move {
            from,
            position,
            sections,
            ..
        } => within(from, sections) && within(position, sections),
        SectionChange::Undo { .. } | SectionChange::Redo { .. } => false,
    }
}

/// Applies a change that fits the list; returns the removed ids.
fn apply(change: &SectionChange, ids: &mut Vec<SectionId>, added: &[SectionId]) -> Vec<SectionId> {
    match *change {
        SectionChange::Insert { position, .. } => {
            ids.splice(position..position, added.iter().copied()).collect()
        }
        SectionChange::Update { position, .. } => ids
            .splice(position + 1..position + 1, added.iter().copied())
            .collect(),
        SectionChange::Delete {
            position, sections, ..
        } => ids.drain(position..position + sections).collect(),
        SectionChange::Move {
            from,
            position,
            sections,
            ..
        } => shift(ids, from, position, sections),
        SectionChange::Undo { .. } | SectionChange::Redo { .. } => Vec::new(),
    }
}

/// Reverts a change.
fn revert(change: &SectionChange, ids: &mut Vec<SectionId>, removed: &[SectionId]) {
    match *change {
        SectionChange::Insert {
            position, sections, ..
        } => drop(ids.drain(position..position + sections)),
        SectionChange::Update {
            position, sections, ..
        } => {
            drop(ids.drain(position + 1..position + 1 + sections));
        }
        SectionChange::Delete { position, .. } => {
            drop(ids.splice(position..position, removed.iter().copied()))
        }
        SectionChange::Move {
            from,
            position,
            sections,
            ..
        } => drop(shift(ids, position, from, sections)),
        SectionChange::Undo { .. } | SectionChange::Redo { .. } => {}
    }
}

fn shift(ids: &mut Vec<SectionId>, from: usize, to: usize, sections: usize) -> Vec<SectionId> {
    let moved: Vec<SectionId> = ids.drain(from..from + sections).collect();
    ids.splice(to..to, moved).collect()
}
