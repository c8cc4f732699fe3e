//! A reference implementation of the contract `braindrive-markdown`, and mutants of it and of the product's servers, to test the checks with.
//!
//! The reference implements the contract's tools like any server, and shares only the contract with the product's server. It
//! is slow, simple and correct: plain files, the git program, one lock, no cache. A change is prepared in a separate folder
//! in `.git`, recorded in a journal, and published by a rename; the next process that takes the lock completes or undoes an
//! interrupted change. The reference serves one library in an existing repository, on Linux, and supports neither MDX nor a
//! repository's attributes.
//!
//! | module | is for |
//! |---|---|
//! | [`CorrectServer`] | the servers, each as a subject of the suite |
//! | [`mutant`] | their mutants: one broken promise each |
//! | `wire` | JSON lines in both eras of MCP |
//! | `http` | the same over HTTP |
//! | `tools` | the contract's tools |
//! | `path`, `markdown`, `preview` | names, sections, diffs; these read no files |
//! | `library` | reading: documents, listing, search, the log |
//! | `change` | changes of documents |
//! | `remote` | sharing the library through a branch of a bare repository |
//! | `journal` | the lock, and recovery of an interrupted change |
//! | `file`, `folder`, `git` | locks and JSON documents, the disk, and the git program |
//! | [`proxy`] | defects between the suite and a correct server that is another program |
//! | [`innocent`] | servers with different tools that must not be accused |

mod change;
mod correct_server;
mod failure;
mod folder;
mod git;
mod http;
pub mod innocent;
mod journal;
mod library;
mod markdown;
pub mod mutant;
mod path;
mod preview;
pub mod proxy;
mod remote;
mod subject;
mod tools;
mod wire;

use std::{error::Error, io, net::SocketAddr, path::Path};

pub use correct_server::CorrectServer;
use failure::failed;
pub use subject::{in_database, over_http};

/// Shares the library at `root` through the bare repository at `address`, for the reference.
pub fn share(root: &Path, address: &str) -> Result<(), Box<dyn Error>> {
    Ok(remote::Remote::set(&git::Git::open(root)?, address)?)
}

/// Serves the library at `root` with the reference: over standard input and output until the input ends, or over HTTP
/// at this address.
pub fn serve(root: &Path, http: Option<SocketAddr>) -> Result<(), Box<dyn Error>> {
    let library = library::Library::open(root)?;
    if let Some(address) = http {
        http::serve(root, address)?;
        return Ok(());
    }
    // Without this, the server would run as long as its input is open.
    let signal = Some(rustix::process::Signal::TERM);
    rustix::process::set_parent_process_death_signal(signal)?;
    wire::serve(&library, io::stdin().lock(), io::stdout().lock())?;
    mutant::after_serving(root);
    Ok(())
}
