//! What can be undone and redone.
//!
//! The two stacks are derived from the versions alone: a step is pushed to the first and empties the second, undoing moves
//! the top of the first to the second, redoing moves it back. Other versions change neither; when a step is to be undone, the
//! content shows whether the document is still as the step left it.

use std::sync::Arc;

use super::{Lineage, SectionId, Step, Version};

/// A step that can be undone or redone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoableStep {
    /// The commit that first made it.
    pub commit: String,
    /// The step.
    pub step: Step,
    /// Sections inserted by the step.
    inserted: Vec<SectionId>,
    /// Sections deleted by the step.
    deleted: Vec<SectionId>,
    /// Content id before; `None` if there was no document.
    pub before: Option<String>,
    /// Content id after.
    pub after: Option<String>,
}

/// Why nothing is undone or redone.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UndoError {
    /// No step is left.
    #[error("there is nothing to {word}")]
    Nothing {
        /// `undo` or `redo`.
        word: &'static str,
    },
    /// The document is no longer as the step left it.
    #[error(
        "the document has been changed by other means since the last {}, so there is no {word} without losing that; change \
         it back first (`git log -p` shows how), or edit on from here",
        step.operation()
    )]
    Changed {
        /// `undo` or `redo`.
        word: &'static str,
        /// The next step.
        step: Box<Step>,
        /// Its commit.
        commit: String,
    },
}

impl Lineage {
    /// Returns the step to undo, if the document's content is `now`. Undoing restores the step's `before`.
    ///
    /// # Errors
    /// [`UndoError`].
    pub fn to_undo(&self, now: Option<&str>) -> Result<&UndoableStep, UndoError> {
        next(&self.undo, now, stringify!(undo), |done| &done.after)
    }

    /// Returns the step to redo, if the document's content is `now`. Redoing restores the step's `after`.
    ///
    /// # Errors
    /// [`UndoError`].
    pub fn to_redo(&self, now: Option<&str>) -> Result<&UndoableStep, UndoError> {
        next(&self.redo, now, stringify!(redo), |done| &done.before)
    }

    /// Follows a step other than undo and redo.
    pub(super) fn done(&mut self, step: &Step, version: &Version) -> bool {
        let inserted = match step {
            Step::Insert {
                section_id, sections, ..
            } => {
                let below = (1..*sections).map(|number| {
                    self.seed
                        .id(&[b"below", section_id.to_string().as_bytes()], number)
                });
                std::iter::once(*section_id).chain(below).collect()
            }
            Step::Update {
                section_id, sections, ..
            } => (1..=*sections)
                .map(|number| {
                    self.seed
                        .id(&[b"below", section_id.to_string().as_bytes()], number)
                })
                .collect(),
            _ => Vec::new(),
        };
        // The other ids are derived from the history, and so are new.
        let taken = inserted.first().is_some_and(|id| self.ids.contains(id));
        if taken || !fits(step, self.ids.len()) {
            return false;
        }
        let deleted = forward(step, &mut self.ids, &inserted);
        self.undo.push(Arc::new(UndoableStep {
            commit: version.commit.clone(),
            step: step.clone(),
            inserted,
            deleted,
            before: self.content.clone(),
            after: version.content.clone(),
        }));
        self.redo.clear();
        true
    }

    pub(super) fn undone(&mut self, commit: &str, version: &Version) -> bool {
        let Some(done) = self.undo.pop_if(|done| {
            done.commit == commit && done.after == self.content && done.before == version.content
        }) else {
            return false;
        };
        backward(&done.step, &mut self.ids, &done.deleted);
        self.redo.push(done);
        true
    }

    pub(super) fn redone(&mut self, commit: &str, version: &Version) -> bool {
        let Some(done) = self.redo.pop_if(|done| {
            done.commit == commit && done.before == self.content && done.after == version.content
        }) else {
            return false;
        };
        forward(&done.step, &mut self.ids, &done.inserted);
        self.undo.push(done);
        true
    }
}

fn next<'l>(
    stack: &'l [Arc<UndoableStep>],
    now: Option<&str>,
    word: &'static str,
    left: impl Fn(&UndoableStep) -> &Option<String>,
) -> Result<&'l UndoableStep, UndoError> {
    let done = stack.last().ok_or(UndoError::Nothing { word })?;
    if left(done).as_deref() == now {
        return Ok(done);
    }
    Err(UndoError::Changed {
        word,
        step: Box::new(done.step.clone()),
        commit: done.commit.clone(),
    })
}

/// Returns true if the step is possible in a list of `length` sections.
fn fits(step: &Step, length: usize) -> bool {
    let within = |position: usize, sections: usize| {
        sections > 0 && position.checked_add(sections).is_some_and(|end| end <= length)
    };
    match *step {
        Step::Insert {
            position, sections, ..
        } => position <= length && sections > 0,
        Step::Delete {
            position, sections, ..
        } => within(position, sections),
        Step::Update { position, .. } => position < length,
        Step::Move {
            from,
            position,
            sections,
            ..
        } => within(from, sections) && within(position, sections),
        Step::Undo { .. } | Step::Redo { .. } => false,
    }
}

/// Applies a step that fits the list; returns the deleted sections.
fn forward(step: &Step, ids: &mut Vec<SectionId>, inserted: &[SectionId]) -> Vec<SectionId> {
    match *step {
        Step::Insert { position, .. } => ids.splice(position..position, inserted.iter().copied()).collect(),
        Step::Update { position, .. } => ids
            .splice(position + 1..position + 1, inserted.iter().copied())
            .collect(),
        Step::Delete {
            position, sections, ..
        } => ids.drain(position..position + sections).collect(),
        Step::Move {
            from,
            position,
            sections,
            ..
        } => shift(ids, from, position, sections),
        Step::Undo { .. } | Step::Redo { .. } => Vec::new(),
    }
}

/// Reverts a step.
fn backward(step: &Step, ids: &mut Vec<SectionId>, deleted: &[SectionId]) {
    match *step {
        Step::Insert {
            position, sections, ..
        } => drop(ids.drain(position..position + sections)),
        Step::Update {
            position, sections, ..
        } => {
            drop(ids.drain(position + 1..position + 1 + sections));
        }
        Step::Delete { position, .. } => drop(ids.splice(position..position, deleted.iter().copied())),
        Step::Move {
            from,
            position,
            sections,
            ..
        } => drop(shift(ids, position, from, sections)),
        Step::Undo { .. } | Step::Redo { .. } => {}
    }
}

fn shift(ids: &mut Vec<SectionId>, from: usize, to: usize, sections: usize) -> Vec<SectionId> {
    let moved: Vec<SectionId> = ids.drain(from..from + sections).collect();
    ids.splice(to..to, moved).collect()
}
