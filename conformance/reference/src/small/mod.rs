//! Small servers of the examples `bulletin`, `tracker` and `logbook`.
//!
//! They pass the checks of their own families and are otherwise minimal: plain files, the git program, one lock, only
//! the stateless era (2026-07-28), no recovery after a crash. The tracker and the logbook keep rows in a JSON document
//! instead.

mod bulletin;
mod conditions;
mod kept;
mod logbook;
mod rest;
mod rows;
mod server;
mod tracker;

use std::{error::Error, io, path::Path};

use self::{
    bulletin::Bulletin,
    logbook::Logbook,
    server::{Answer, Call, ContractServer, Library, Refusal, failed, listed, now, respond, serve_lines},
    tracker::Tracker,
};
pub use rest::serve_bulletin_at;
pub(crate) use {
    bulletin::{CONTRACT as BULLETIN, ROLES},
    kept::CLOCK_OFFSET,
    logbook::CONTRACT as LOGBOOK,
    tracker::CONTRACT as TRACKER,
};

use crate::correct_server::CorrectServer;

/// Options of some of the servers.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options<'a> {
    /// The mode, for a contract that has modes.
    pub mode: Option<&'a str>,
    /// The client's role, for a contract that has roles.
    pub role: Option<&'a str>,
}

/// Serves a library or rows in `folder` over standard input and output until the input ends.
///
/// # Errors
/// If `server` is not a small one, or a pipe breaks.
pub fn serve(server: CorrectServer, folder: &Path, options: Options<'_>) -> Result<(), Box<dyn Error>> {
    let library = Library(folder.to_owned());
    let (contract, mut server): (_, Box<dyn ContractServer>) = match server {
        CorrectServer::Tracker => (TRACKER, Box::new(Tracker::new(folder))),
        CorrectServer::Logbook => (LOGBOOK, Box::new(Logbook::new(folder, options.mode))),
        CorrectServer::Bulletin => (BULLETIN, Box::new(Bulletin::new(library, options.role))),
        _ => return Err("this contract has no small server".into()),
    };
    Ok(serve_lines(contract, &mut *server)?)
}

/// Prints the rows in `folder` and the log of their changes as lines of JSON.
///
/// # Errors
/// If the server keeps no rows of its own, they can't be read, or a pipe breaks.
pub fn export(server: CorrectServer, folder: &Path) -> io::Result<()> {
    let to = &mut io::stdout().lock();
    match server {
        CorrectServer::Logbook => rows::export(&folder.join(logbook::FILE), logbook::entities(), to),
        CorrectServer::Tracker => rows::export(&folder.join(tracker::FILE), tracker::entities(), to),
        _ => Err(io::Error::other("this server keeps no rows of its own")),
    }
}
