//! Small servers of the contracts `learning-os` and `safe-markdown-editor`, and of the examples `bulletin`, `desk`, `tracker` and
//! `logbook`.
//!
//! They pass the checks of their own families and are otherwise minimal: plain files, the git program, one lock, only
//! the stateless era (2026-07-28), no recovery after a crash. The tracker and the logbook keep rows in a JSON document
//! instead.

mod bulletin;
mod conditions;
mod desk;
mod editor;
mod kept;
mod logbook;
mod memory;
mod rest;
mod server;
mod tracker;

use std::{io, path::Path};

use tabellion_contracts::{learning_os, safe_markdown_editor};

pub use rest::serve_bulletin_at;
use server::{
    Answer, ContractServer, Library, PersonAnswer, Refusal, failed, listed, now, refused, respond, serve,
};
pub(crate) use {
    bulletin::{CONTRACT as BULLETIN, ROLES},
    desk::CONTRACT as DESK,
    kept::CLOCK_OFFSET,
    logbook::CONTRACT as LOGBOOK,
    tracker::CONTRACT as TRACKER,
};

/// Serves the memory in the library at `root` over standard input and output until the input ends.
///
/// # Errors
/// If a pipe breaks.
pub fn serve_memory(root: &Path) -> io::Result<()> {
    let library = Library(root.to_owned());
    serve(&learning_os::CONTRACT, &mut memory::Memory::new(library))
}

/// Serves one document of the library at `root` over standard input and output until the input ends.
///
/// # Errors
/// If a pipe breaks.
pub fn serve_document(root: &Path, document: &str) -> io::Result<()> {
    let library = Library(root.to_owned());
    serve(&safe_markdown_editor::CONTRACT, &mut editor::Editor::new(library, document))
}

/// Serves rows in `folder` over standard input and output until the input ends.
///
/// # Errors
/// If a pipe breaks.
pub fn serve_tracker(folder: &Path) -> io::Result<()> {
    serve(TRACKER, &mut tracker::Tracker::new(folder))
}

/// Prints the rows in `folder` and their log as lines of JSON.
///
/// # Errors
/// If they can't be read, or a pipe breaks.
pub fn export_tracker(folder: &Path) -> io::Result<()> {
    tracker::export(folder, &mut io::stdout().lock())
}

/// Serves the log of a ship in `folder`, in this mode, over standard input and output until the input ends.
///
/// # Errors
/// If a pipe breaks.
pub fn serve_logbook(folder: &Path, mode: Option<&str>) -> io::Result<()> {
    serve(LOGBOOK, &mut logbook::Logbook::new(folder, mode))
}

/// Prints the rows of a ship's log in `folder` and the log of their changes as lines of JSON.
///
/// # Errors
/// If they can't be read, or a pipe breaks.
pub fn export_logbook(folder: &Path) -> io::Result<()> {
    logbook::export(folder, &mut io::stdout().lock())
}

/// Serves pages in the library at `root` over standard input and output until the input ends.
///
/// # Errors
/// If a pipe breaks.
pub fn serve_desk(root: &Path) -> io::Result<()> {
    let library = Library(root.to_owned());
    serve(DESK, &mut desk::Desk(library))
}

/// Serves notices in the library at `root` to a client of this role, over standard input and output until the input ends.
///
/// # Errors
/// If a pipe breaks.
pub fn serve_bulletin(root: &Path, role: Option<&str>) -> io::Result<()> {
    let library = Library(root.to_owned());
    serve(BULLETIN, &mut bulletin::Bulletin::new(library, role))
}
