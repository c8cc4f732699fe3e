//! A server for a contract whose store keeps rows: `schemas/tracker` has the entities, `generated` is the output of
//! `tabellion_codegen::generate`. All operations follow from the entities, so none is written by hand.
//!
//! `cargo run -p tabellion-it -- tracker FOLDER [ADDRESS]` keeps its data in that folder, and serves standard input and output, or HTTP. A
//! separate program calls [`serve`] in its `main`.

mod generated;

use std::{error::Error, path::PathBuf};

use generated::tracker::{ROWS, Service, Tracker};

/// An implementation without a method.
struct Rules;

impl Tracker for Rules {}

/// Serves according to a command line's arguments, without the program's name.
pub(crate) fn serve(mut arguments: impl Iterator<Item = String>) -> Result<(), Box<dyn Error>> {
    let folder: PathBuf = arguments.next().ok_or("usage: tracker FOLDER [ADDRESS]")?.into();
    let server = tabellion_serve::Server::open_rows("tracker", env!("CARGO_PKG_VERSION"), folder, &ROWS)?;
    let service = Service::new(Rules, server.records());
    match arguments.next() {
        None => server.with(service).serve_stdio()?,
        Some(address) => server.with(service).serve_http(address.parse()?)?,
    }
    Ok(())
}
