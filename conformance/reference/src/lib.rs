//! A reference implementation of the contract `braindrive-markdown`, to test the checks with, and a zoo of mutants of it.
//!
//! It is an implementation as any other, which is why it alone of this crate names a contract's tools, and it shares nothing
//! with any server but the contract. It is slow, simple and right: plain files, the git program, one lock, no cache. Every
//! change is prepared in a folder of its own in `.git`, announced in a journal, and becomes visible by renaming; what was
//! cut off is undone or finished by the next who takes the lock. It serves one library in a repository that is there already,
//! on Linux, and knows neither MDX nor a repository's attributes.
//!
//! | module | is for |
//! |---|---|
//! | [`mutant`] | the zoo: one broken promise each |
//! | `wire` | JSON lines in both eras of MCP |
//! | `http` | the same over HTTP |
//! | `tools` | the contract's tools |
//! | `path`, `markdown`, `preview` | names, sections, diffs: no files here |
//! | `library` | reading: documents, listing, search, the log |
//! | `change` | the one way to change a document |
//! | `journal` | the lock, and what is left of a change that was cut off |
//! | `folder`, `git` | the disk and the git program |
//! | [`small`] | servers of the other contracts, with less to them |

mod change;
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

use tabellion_conformance::{Subject, era::Era, launch::Reach};
use tabellion_contracts::braindrive_markdown::CONTRACT;
use tabellion_runtime::{Failure, FailureKind};

/// The reference as a server under test, or one of its mutants; `program` is the binary `tabellion-reference`.
pub fn subject(program: &Path, specimen: Option<&mutant::Specimen>) -> Subject {
    let mut command = vec![program.to_string_lossy().into_owned()];
    command.extend(["--library", "{library}"].map(String::from));
    let mutant = specimen.map(|specimen| ["--mutant", specimen.name].map(String::from));
    command.extend(mutant.into_iter().flatten());
    Subject {
        name: specimen.map_or("reference", |specimen| specimen.name).to_owned(),
        era: Era::Stateless,
        ..Subject::new(&CONTRACT, command)
    }
}

/// The same over HTTP.
pub fn subject_over_http(program: &Path, specimen: Option<&mutant::Specimen>) -> Subject {
    let mut subject = subject(program, specimen);
    let command = &mut subject.launch.command;
    command.extend(["--http", "127.0.0.1:{port}"].map(String::from));
    subject.launch.reach = Reach::Http("http://127.0.0.1:{port}/mcp".to_owned());
    subject
}

/// Serves the library at `root` over standard input and output until its end, or over HTTP at this address for ever; as
/// `mutant`, if one is given.
///
/// # Errors
/// When there is no library, a pipe breaks, or the address is taken.
pub fn serve(
    root: &Path,
    mutant: Option<mutant::Mutant>,
    http: Option<SocketAddr>,
) -> Result<(), Box<dyn Error>> {
    mutant.into_iter().for_each(mutant::become_one);
    let library = library::Library::open(root)?;
    if let Some(address) = http {
        http::serve(root, address)?;
        return Ok(());
    }
    // Nobody else would end us where the other end of our input stays open.
    let signal = Some(rustix::process::Signal::TERM);
    rustix::process::set_parent_process_death_signal(signal)?;
    wire::serve(&library, io::stdin().lock(), io::stdout().lock())?;
    Ok(())
}

/// An error of the system, with what was being done.
fn failed<E: Display>(doing: &'static str) -> impl Fn(E) -> Failure {
    move |error| Failure::new(FailureKind::Io, format!("can't {doing}: {error}"))
}
