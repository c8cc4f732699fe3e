//! Append-only tools: the file keeps its content, each entry is appended once and whole, and no other file is accepted.
//!
//! The contract declares the files and the schema of an entry. Each check covers all effects that append.

mod content;
mod crowd;
mod effect;
mod limits;
mod program;
mod targets;
mod timestamp;

use crate::{check::Check, request::Call};

pub(super) const CHECKS: &[Check] = &[
    content::CHECK,
    program::CHECK,
    limits::ENTRIES,
    limits::READ,
    timestamp::CHECK,
    targets::NAMES,
    targets::LINKS,
    crowd::CHECK,
];
