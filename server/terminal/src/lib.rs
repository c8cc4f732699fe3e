//! Commands for people at a terminal: showing the log and uncommitted changes, undoing a change, calling a tool.
//!
//! Each command opens a library as the server does, and creates none. Its output is a [`Page`](tabellion_upkeep::page::Page): coloured text,
//! or JSON for programs.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests open what they have made"))]
// Printing macros panic on a closed stream; `tabellion_upkeep::console` does not.
#![cfg_attr(not(test), deny(clippy::print_stderr, clippy::print_stdout))]

pub mod audit;
pub mod call;
mod diff;
mod init;
mod log;
pub mod remote;
pub mod review;
mod selection;
mod status;
mod undo;
mod web;

use std::{path::Path, sync::Arc};

use tabellion_library::{self as library, CreateFolders, Library};
use tabellion_upkeep::TerminalError;

pub use self::{
    diff::diff,
    init::init,
    log::{log, show},
    status::status,
    undo::undo,
    web::web,
};

/// Opens the library in `folder`, which must be one already.
fn open(folder: &Path) -> Result<Arc<Library>, TerminalError> {
    let options = library::Options { create: CreateFolders::Nothing, ..library::Options::default() };
    Ok(Arc::new(Library::open(folder, options)?))
}
