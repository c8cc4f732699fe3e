//! Paths that lead elsewhere, or to nothing that a document is; and what around a library might lead a server astray.

mod attack;
mod environment;
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
    root::SWAPPED_FOLDER,
    root::LINKED_ROOT,
    root::INNER_ROOT,
    hostile::CONFIG,
    environment::ENVIRONMENT,
    injection::INJECTION,
];
