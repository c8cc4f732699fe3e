//! The undo and redo stacks.
//!
//! Both are derived from the versions alone: a change is pushed onto the undo stack and clears the redo stack, an undo moves the
//! top of the undo stack to the redo stack, a redo moves it back. Any other version leaves both unchanged: an undo compares the
//! document's content with the entry's, and so detects such a version. If a person has undone the change at the top, the undo
//! concerns the one below, and the passed one leaves the stack. If a person has edited other lines since, only the change
//! itself is reverted; then the sections are matched as after a hand edit, and restored ones have their former ids. If the result
//! is exactly the former content, though the sections are the same as right after the change, all of them have their former ids:
//! sections without text would be indistinguishable otherwise.

use std::{
    hash::{BuildHasher, BuildHasherDefault, DefaultHasher},
    sync::Arc,
};

use super::{Followed, Lineage, Returning, SectionChange, SectionId, Version};

/// A way through the changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Reverts the last change.
    Undo,
    /// Makes the last undone change again.
    Redo,
}

impl Direction {
    fn word(self) -> &'static str {
        match self {
            Self::Undo => stringify!(undo),
            Self::Redo => stringify!(redo),
        }
    }

    /// Returns the contents before and after a step, of those before and after the change.
    fn way(self, [before, after]: &[Option<String>; 2]) -> (Option<&str>, Option<&str>) {
        match self {
            Self::Undo => (after.as_deref(), before.as_deref()),
            Self::Redo => (before.as_deref(), after.as_deref()),
        }
    }

    /// Returns the error of an undo or redo without a change that it can concern.
    pub fn nothing(self) -> UndoError {
        UndoError::Nothing { word: self.word() }
    }
}

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
    /// The [`digest`] of all sections before the change, and after it.
    sections: [u64; 2],
    /// The ids of the contents before the change and after it; `None` if there was no document.
    contents: [Option<String>; 2],
    /// The same of its last undo or redo, if that kept edits by others.
    merged: Option<[Option<String>; 2]>,
}

impl UndoEntry {
    /// Returns the contents before and after an undo or redo of this change: those of the step that it reverses.
    pub fn contents(&self, direction: Direction) -> (Option<&str>, Option<&str>) {
        direction.way(self.merged.as_ref().unwrap_or(&self.contents))
    }

    /// Returns the contents between which the sections change as recorded.
    fn recorded(&self, direction: Direction) -> (Option<&str>, Option<&str>) {
        direction.way(&self.contents)
    }

    /// Returns the [`digest`] of the sections before an undo or redo of this change.
    fn sections_from(&self, direction: Direction) -> u64 {
        let [before, after] = self.sections;
        match direction {
            Direction::Undo => after,
            Direction::Redo => before,
        }
    }

    /// Returns the log's record of an undo or redo of this change.
    pub fn step(&self, direction: Direction) -> SectionChange {
        let commit = self.commit.clone();
        match direction {
            Direction::Undo => SectionChange::Undo { undoes: commit },
            Direction::Redo => SectionChange::Redo { redoes: commit },
        }
    }

    /// Returns the error of an undo or redo that others' edits of the same lines prevent.
    pub fn conflict(&self, direction: Direction) -> UndoError {
        UndoError::Changed {
            word: direction.word(),
            change: Box::new(self.change.clone()),
            commit: self.commit.clone(),
        }
    }

    /// Returns the sections that an undo or redo restores.
    fn returning(&self, direction: Direction) -> Returning {
        let (_, content) = self.recorded(direction);
        let (position, ids) = match (direction, &self.change) {
            (Direction::Undo, SectionChange::Delete { position, .. }) => (*position, &self.removed[..]),
            (Direction::Redo, SectionChange::Insert { position, .. }) => (*position, &self.added[..]),
            (Direction::Redo, SectionChange::Update { position, .. }) => (position + 1, &self.added[..]),
            _ => (0, &[][..]),
        };
        Returning { content: content.map(String::from), position, ids: ids.to_vec() }
    }
}

/// An undo or redo is not possible.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UndoError {
    /// The stack is empty, or others have undone or redone all of it.
    #[error("there is nothing to {word}")]
    Nothing {
        /// The operation: undo or redo.
        word: &'static str,
    },
    /// Others have edited the same lines since.
    #[error(
        "the lines of the last {} have been changed by other means since, so there is no {word} without losing that; change \
         them back first (`git log -p` shows how), or edit on from here",
        change.operation()
    )]
    Changed {
        /// The operation: undo or redo.
        word: &'static str,
        /// The change that the undo or redo concerns.
        change: Box<SectionChange>,
        /// The commit of that change.
        commit: String,
    },
}

impl Lineage {
    /// Returns the changes on a stack, its top first. The next undo or redo concerns the first one that others have not undone or
    /// redone themselves. It restores the content of [`contents`](UndoEntry::contents), or merges with later edits by others.
    pub fn entries(&self, direction: Direction) -> impl Iterator<Item = &UndoEntry> {
        let stack = match direction {
            Direction::Undo => &self.undo,
            Direction::Redo => &self.redo,
        };
        stack.iter().rev().map(|done| &**done)
    }

    /// Applies a change other than undo and redo; returns false if it does not fit the list of sections.
    pub(super) fn apply_change(&mut self, change: &SectionChange, version: &Version) -> bool {
        let added = match change {
            SectionChange::Insert { section_id, sections, .. } => {
                let below = (1..*sections).map(|number| {
                    self.history_digest.id(&[b"below", section_id.to_string().as_bytes()], number)
                });
                std::iter::once(*section_id).chain(below).collect()
            }
            SectionChange::Update { section_id, sections, .. } => {
                let (above, text) = (section_id.to_string(), version.content.as_deref().unwrap_or_default());
                let below = [b"below", above.as_bytes(), text.as_bytes()];
                (1..=*sections).map(|number| self.history_digest.id(&below, number)).collect()
            }
            _ => Vec::new(),
        };
        // The other ids are derived from the history, and so are new.
        let taken = added.first().is_some_and(|id| self.ids.contains(id));
        if taken || !fits(change, self.ids.len()) {
            return false;
        }
        let before = digest(&self.ids);
        let removed = apply(change, &mut self.ids, &added);
        self.undo.push(Arc::new(UndoEntry {
            commit: version.commit.clone(),
            change: change.clone(),
            added,
            removed,
            sections: [before, digest(&self.ids)],
            contents: [self.content.clone(), version.content.clone()],
            merged: None,
        }));
        self.redo.clear();
        true
    }

    /// Applies the undo or redo of a commit. Changes above it were passed over, and leave the stack.
    pub(super) fn apply_step(&mut self, direction: Direction, commit: &str, version: &Version) -> Followed {
        let (from, to) = match direction {
            Direction::Undo => (&mut self.undo, &mut self.redo),
            Direction::Redo => (&mut self.redo, &mut self.undo),
        };
        let Some(index) = from.iter().rposition(|done| done.commit == commit) else {
            return Followed::Matched(None);
        };
        let done = from.swap_remove(index);
        from.truncate(index);
        let returning = done.returning(direction);
        let (content_from, content_to) = done.recorded(direction);
        let has_same_content = || {
            // Its sections can have other ids, by hand edits in between, and also those that would come back.
            let is_one_back = || self.ids.iter().any(|id| returning.ids.contains(id));
            content_from == self.content.as_deref() && !is_one_back()
        };
        let is_exact = content_to == version.content.as_deref()
            && (done.sections_from(direction) == digest(&self.ids) || has_same_content());
        let step = match direction {
            Direction::Undo => [version.content.clone(), self.content.clone()],
            Direction::Redo => [self.content.clone(), version.content.clone()],
        };
        let merged = Some(step).filter(|step| *step != done.contents);
        to.push(Arc::new(UndoEntry { merged, ..UndoEntry::clone(&done) }));
        if !is_exact {
            return Followed::Matched(Some(returning));
        }
        match direction {
            Direction::Undo => revert(&done.change, &mut self.ids, &done.removed),
            Direction::Redo => drop(apply(&done.change, &mut self.ids, &done.added)),
        }
        Followed::Counted
    }
}

/// Returns a number by which lists of sections are compared, within one process.
fn digest(ids: &[SectionId]) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(ids)
}

/// Returns true if the change can apply to a list of `length` sections.
fn fits(change: &SectionChange, length: usize) -> bool {
    let within = |position: usize, sections: usize| {
        sections > 0 && position.checked_add(sections).is_some_and(|end| end <= length)
    };
    match *change {
        SectionChange::Insert { position, sections, .. } => position <= length && sections > 0,
        SectionChange::Delete { position, sections, .. } => within(position, sections),
        SectionChange::Update { position, .. } => position < length,
        SectionChange::Move { from, position, sections, .. } => {
            within(from, sections) && within(position, sections)
        }
        SectionChange::Undo { .. } | SectionChange::Redo { .. } => false,
    }
}

/// Applies a change that fits the list; returns the removed ids.
fn apply(change: &SectionChange, ids: &mut Vec<SectionId>, added: &[SectionId]) -> Vec<SectionId> {
    match *change {
        SectionChange::Insert { position, .. } => {
            ids.splice(position..position, added.iter().copied()).collect()
        }
        SectionChange::Update { position, .. } => {
            ids.splice(position + 1..position + 1, added.iter().copied()).collect()
        }
        SectionChange::Delete { position, sections, .. } => {
            ids.drain(position..position + sections).collect()
        }
        SectionChange::Move { from, position, sections, .. } => shift(ids, from, position, sections),
        SectionChange::Undo { .. } | SectionChange::Redo { .. } => Vec::new(),
    }
}

/// Reverts a change.
fn revert(change: &SectionChange, ids: &mut Vec<SectionId>, removed: &[SectionId]) {
    match *change {
        SectionChange::Insert { position, sections, .. } => drop(ids.drain(position..position + sections)),
        SectionChange::Update { position, sections, .. } => {
            drop(ids.drain(position + 1..position + 1 + sections));
        }
        SectionChange::Delete { position, .. } => {
            drop(ids.splice(position..position, removed.iter().copied()))
        }
        SectionChange::Move { from, position, sections, .. } => drop(shift(ids, position, from, sections)),
        SectionChange::Undo { .. } | SectionChange::Redo { .. } => {}
    }
}

fn shift(ids: &mut Vec<SectionId>, from: usize, to: usize, sections: usize) -> Vec<SectionId> {
    let moved: Vec<SectionId> = ids.drain(from..from + sections).collect();
    ids.splice(to..to, moved).collect()
}
