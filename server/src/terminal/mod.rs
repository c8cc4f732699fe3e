//! Commands for people at a terminal: showing the log and uncommitted changes, undoing a change, calling a tool.
//!
//! Each command opens a library as the server does, and creates none. Its output is a [`Page`](tabellion_upkeep::page::Page): coloured text,
//! or JSON for programs.

pub(crate) mod audit;
pub(crate) mod call;
mod diff;
mod init;
mod log;
pub(crate) mod remote;
pub(crate) mod review;
mod status;
mod undo;
mod web;

use std::{path::Path, sync::Arc};

use tabellion_library::{self as library, CreateFolders, Library};
use tabellion_upkeep::TerminalError;

pub(crate) use self::{
    diff::diff,
    init::init,
    log::{log, show},
    status::status,
    undo::undo,
    web::web,
};

/// Opens the library in `folder`, which must be one already.
pub(crate) fn open(folder: &Path) -> Result<Arc<Library>, TerminalError> {
    let options = library::Options {
        create: CreateFolders::Nothing,
        ..library::Options::default()
    };
    Ok(Arc::new(Library::open(folder, options)?))
}
