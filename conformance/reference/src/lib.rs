//! A reference implementation of the contract `braindrive-markdown`, small servers of the other contracts, and mutants of all
//! of them, to test the checks with.
//!
//! The reference is an implementation like any other, which is why this crate names a contract's tools, and it shares nothing
//! with the product's server but the contract. It is slow, simple and correct: plain files, the git program, one lock, no cache.
//! Every change is prepared in a folder of its own in `.git`, announced in a journal, and becomes visible by renaming; what was
//! cut off is undone or finished by the next process that takes the lock. It serves one library in an existing repository, on
//! Linux, and knows neither MDX nor a repository's attributes.
//!
//! | module | is for |
//! |---|---|
//! | [`CorrectServer`] | the servers, each as a subject of the suite |
//! | [`mutant`] | their mutants: one broken promise each |
//! | `wire` | JSON lines in both eras of MCP |
//! | `http` | the same over HTTP |
//! | `tools` | the contract's tools |
//! | `path`, `markdown`, `preview` | names, sections, diffs: no files here |
//! | `library` | reading: documents, listing, search, the log |
//! | `change` | the one way to change a document |
//! | `journal` | the lock, and what is left of a change that was cut off |
//! | `folder`, `git` | the disk and the git program |
//! | [`small`] | the servers of the other contracts |

mod change;
mod correct_server;
mod folder;
mod git;
mod http;
mod journal;
mod library;
mod markdown;
pub mod mutant;
mod path;
mod preview;
pub mod small;
mod tools;
mod wire;

use std::{error::Error, fmt::Display, io, net::SocketAddr, path::Path};

pub use correct_server::{CorrectServer, reference_over_http};
use tabellion_runtime::{Failure, FailureKind};

/// Serves the library at `root` as the reference does: over standard input and output until its end, or over HTTP at this
/// address for ever.
///
/// # Errors
/// When there is no library, a pipe breaks, or the address is taken.
pub fn serve(root: &Path, http: Option<SocketAddr>) -> Result<(), Box<dyn Error>> {
    let library = library::Library::open(root)?;
    if let Some(address) = http {
        http::serve(root, address)?;
        return Ok(());
    }
    // Nothing else ends the server while the other end of its input stays open.
    let signal = Some(rustix::process::Signal::TERM);
    rustix::process::set_parent_process_death_signal(signal)?;
    wire::serve(&library, io::stdin().lock(), io::stdout().lock())?;
    Ok(())
}

/// An error of the system, with what was being done.
fn failed<E: Display>(doing: &'static str) -> impl Fn(E) -> Failure {
    move |error| Failure::new(FailureKind::Io, format!("can't {doing}: {error}"))
}
