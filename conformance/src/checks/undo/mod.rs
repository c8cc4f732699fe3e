//! Undo and redo: each takes the document back to exactly what it was, as a new change, and never over a person's.

mod hand;
mod program;
mod round;

use crate::check::Check;

pub(super) const CHECKS: &[Check] = &[
    round::UNDO,
    round::REDO,
    round::CLEARED,
    round::KEPT,
    hand::CHECK,
    hand::NOTHING,
    program::CHECK,
    program::DEEP,
];
