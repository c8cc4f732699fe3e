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

use std::{
    path::{self, Path, PathBuf},
    sync::Arc,
};

use tabellion_library::{self as library, CreateFolders, Library};
use tabellion_pack::Packs;
use tabellion_serve::calls;
use tabellion_upkeep::TerminalError;

pub use self::{
    diff::diff,
    init::init,
    log::{log, show},
    status::status,
    undo::undo,
    web::web,
};

/// Returns the folder of the library that a command about proposals and calls is for: in place of the current folder, the nearest one in its
/// repository, at it or above, that has some. Every folder of a repository can be a library, but few are used as one.
fn nearest_used(folder: &Path, packs: Packs) -> PathBuf {
    let here =
        if folder == Path::new(".") { path::absolute(folder).unwrap_or_default() } else { PathBuf::new() };
    let repository = here.ancestors().position(|above| above.join(".git").exists());
    let mut folders = here.ancestors().take(repository.map_or(0, |at| at + 1));
    let is_used =
        |above: &&Path| Library::inspect(above).is_ok_and(|library| has_reviews(&library, above, packs));
    folders.find(is_used).unwrap_or(folder).to_owned()
}

/// Returns true if a library has, or had, pending proposals.
fn has_reviews(library: &Library, folder: &Path, packs: Packs) -> bool {
    calls::are_kept(library) || packs.reviews().any(|review| folder.join(review.folder).is_dir())
}

/// Opens the library in `folder`, which must be one already.
fn open(folder: &Path) -> Result<Arc<Library>, TerminalError> {
    let options = library::Options { create: CreateFolders::Nothing, ..library::Options::default() };
    Ok(Arc::new(Library::open(folder, options)?))
}
