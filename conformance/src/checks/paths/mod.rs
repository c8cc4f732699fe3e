//! Checks of paths: hostile paths and links, special files, and environments and repositories that mislead git.

mod attack;
mod environment;
mod every_tool;
mod existing;
mod hostile;
mod injection;
mod root;

use crate::check::Check;

pub(super) const CHECKS: &[Check] = &[
    attack::ESCAPE,
    attack::LINKS,
    attack::SPECIAL_FILES,
    attack::NAMES,
    attack::GIT_INTERNALS,
    existing::EXISTING_NAMES,
    every_tool::EVERY_TOOL,
    root::SWAPPED_FOLDER,
    root::LINKED_ROOT,
    root::INNER_ROOT,
    hostile::CONFIG,
    environment::ENVIRONMENT,
    injection::INJECTION,
];
