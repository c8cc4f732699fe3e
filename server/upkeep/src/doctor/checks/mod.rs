//! The checks, in the order in which they are shown.

mod clients;
mod data;
mod folder;
mod git;
mod log;
mod repository;
mod sync;
mod time;

use tabellion_pack::Packs;

use super::{finding::Finding, subject::Subject};
use crate::data::DataFolder;

/// A check: returns findings about its subject. It changes nothing.
pub(super) type Check = fn(&Subject) -> Vec<Finding>;

/// All checks.
pub(super) const ALL: &[Check] = &[
    git::version,
    folder::library,
    git::identity,
    folder::permissions,
    folder::names,
    folder::notes,
    folder::file_system,
    sync::service,
    sync::conflict_copies,
    sync::remote,
    sync::unmerged,
    repository::state,
    repository::locks,
    repository::processes,
    repository::uncommitted,
    repository::hooks,
    repository::index,
    repository::objects,
    log::agreement,
    log::recovery,
    log::failed_runs,
    log::leftovers,
    time::files,
    time::commits,
    clients::entries,
];

/// The checks of a data folder, in the order in which they are shown.
pub(super) const OF_DATA: &[fn(&DataFolder, Packs) -> Vec<Finding>] = &[
    data::folder,
    data::permissions,
    data::file_system,
    data::service,
    data::files,
    data::log,
    data::words,
    data::processes,
    data::code,
    data::leftovers,
    |_, _| clients::all(),
];
