//! Commands for people at a terminal: showing the log and uncommitted changes, undoing a change, calling a tool.
//!
//! Each command opens a library as the server does, and creates none. Its output is a [`Page`](page::Page): coloured text,
//! or JSON for programs.

pub(crate) mod audit;
pub(crate) mod call;
mod diff;
mod error;
mod init;
mod log;
pub(crate) mod page;
mod pager;
pub(crate) mod remote;
pub(crate) mod review;
mod status;
mod undo;
mod web;

use std::{path::Path, sync::Arc};

use tabellion_library::{self as library, CreateFolders, Library};

pub(crate) use self::{
    diff::diff,
    error::TerminalError,
    init::init,
    log::{log, show},
    page::{Output, Page, When},
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

/// Returns the number with the noun: `1 document`, `2 documents`.
pub(crate) fn counted(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}
