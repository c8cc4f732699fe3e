//! What can be undone, and what can be done again.
//!
//! The two stacks follow from the versions alone: a step goes onto the first and empties the second, undoing moves the top
//! of the first to the second, doing again moves it back. A version that is none of these leaves both as they are: whether
//! the document is still what the step made of it shows when it is to be undone, by its content.

use std::sync::Arc;

use super::{Lineage, SectionId, Step, Version};

/// A step that was made and can be undone, or was undone and can be made again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    /// The commit that made it first.
    pub commit: String,
    /// What it did.
    pub step: Step,
    /// The sections that came with it.
    came: Vec<SectionId>,
    /// The sections that went with it.
    went: Vec<SectionId>,
    /// Id of the content before; `None` where there was no document.
    pub before: Option<String>,
    /// Id of the content after.
    pub after: Option<String>,
}

/// Why nothing is undone, or made again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UndoError {
    /// No step is left.
    #[error("there is nothing to {word}")]
    Nothing {
        /// What was to be done.
        word: &'static str,
    },
    /// The document is no longer what the step left.
    #[error(
        "the document has been changed by other means since the last {}, so there is no {word} without losing that; change \
         it back first (`git log -p` shows how), or edit on from here",
        step.operation()
    )]
    Changed {
        /// What was to be done.
        word: &'static str,
        /// The step that would be next.
        step: Box<Step>,
        /// Its commit.
        commit: String,
    },
}

impl Lineage {
    /// The step to undo, where the document's content is `now`. Afterwards it is that step's `before`.
    ///
    /// # Errors
    /// [`UndoError`].
    pub fn to_undo(&self, now: Option<&str>) -> Result<&Done, UndoError> {
        next(&self.undo, now, stringify!(undo), |done| &done.after)
    }

    /// The step to make again, where the document's content is `now`. Afterwards it is that step's `after`.
    ///
    /// # Errors
    /// [`UndoError`].
    pub fn to_redo(&self, now: Option<&str>) -> Result<&Done, UndoError> {
        next(&self.redo, now, stringify!(redo), |done| &done.before)
    }

    /// Follows a step that is neither undone nor made again.
    pub(super) fn done(&mut self, step: &Step, version: &Version) -> bool {
        let came = match step {
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
        // The others come from the history, and so are new.
        let taken = came.first().is_some_and(|id| self.ids.contains(id));
        if taken || !fits(step, self.ids.len()) {
            return false;
        }
        let went = forward(step, &mut self.ids, &came);
        self.undo.push(Arc::new(Done {
            commit: version.commit.clone(),
            step: step.clone(),
            came,
            went,
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
        backward(&done.step, &mut self.ids, &done.went);
        self.redo.push(done);
        true
    }

    pub(super) fn redone(&mut self, commit: &str, version: &Version) -> bool {
        let Some(done) = self.redo.pop_if(|done| {
            done.commit == commit && done.before == self.content && done.after == version.content
        }) else {
            return false;
        };
        forward(&done.step, &mut self.ids, &done.came);
        self.undo.push(done);
        true
    }
}

fn next<'l>(
    stack: &'l [Arc<Done>],
    now: Option<&str>,
    word: &'static str,
    left: impl Fn(&Done) -> &Option<String>,
) -> Result<&'l Done, UndoError> {
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

/// Whether a list of `length` sections can have this done to it.
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

/// Does a step that fits to the list; returns what goes.
fn forward(step: &Step, ids: &mut Vec<SectionId>, came: &[SectionId]) -> Vec<SectionId> {
    match *step {
        Step::Insert { position, .. } => ids.splice(position..position, came.iter().copied()).collect(),
        Step::Update { position, .. } => ids
            .splice(position + 1..position + 1, came.iter().copied())
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

/// Takes a step back.
fn backward(step: &Step, ids: &mut Vec<SectionId>, went: &[SectionId]) {
    match *step {
        Step::Insert {
            position, sections, ..
        } => drop(ids.drain(position..position + sections)),
        Step::Update {
            position, sections, ..
        } => {
            drop(ids.drain(position + 1..position + 1 + sections));
        }
        Step::Delete { position, .. } => drop(ids.splice(position..position, went.iter().copied())),
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
