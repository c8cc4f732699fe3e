//! The checks, in the order in which they are shown.

mod clients;
mod data;
mod folder;
mod git;
mod log;
mod repository;
mod sync;
mod time;

use tabellion_library::Library;
use tabellion_pack::Packs;

use self::Check::{Always, Opened};
use super::{finding::Finding, subject::Subject};
use crate::data::DataFolder;

/// A check: returns findings about its subject. It changes nothing.
#[derive(Clone, Copy)]
pub(super) enum Check {
    /// Made always.
    Always(fn(&Subject) -> Vec<Finding>),
    /// Made if the library could be opened.
    Opened(fn(&Subject, &Library) -> Vec<Finding>),
}

impl Check {
    pub(super) fn run(self, subject: &Subject) -> Vec<Finding> {
        match self {
            Always(check) => check(subject),
            Opened(check) => subject.library().map(|library| check(subject, library)).unwrap_or_default(),
        }
    }
}

pub(super) const ALL: &[Check] = &[
    Always(git::version),
    Always(folder::library),
    Opened(git::identity),
    Opened(folder::permissions),
    Opened(folder::names),
    Opened(folder::notes),
    Always(folder::file_system),
    Always(sync::service),
    Opened(sync::conflict_copies),
    Opened(sync::remote),
    Opened(sync::unmerged),
    Opened(repository::state),
    Opened(repository::locks),
    Opened(repository::processes),
    Opened(repository::uncommitted),
    Opened(repository::hooks),
    Opened(repository::index),
    Opened(repository::objects),
    Opened(log::agreement),
    Opened(log::recovery),
    Opened(log::failed_runs),
    Opened(log::leftovers),
    Opened(time::files),
    Opened(time::commits),
    Always(|_| clients::entries()),
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
    |_, _| clients::entries(),
];
