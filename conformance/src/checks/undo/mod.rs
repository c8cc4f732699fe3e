//! Checks of undo and redo: each restores the document exactly, in a new commit, and never overwrites a person's edit.

mod hand;
mod program;
mod round;

use crate::check::Check;

pub(super) const CHECKS: &[Check] = &[
    round::UNDO,
    round::REDO,
    round::EDIT_CLEARS_REDO,
    round::HISTORY_KEPT,
    hand::CHECK,
    hand::NOTHING_TO_UNDO,
    program::CHECK,
    program::LEVELS,
];
