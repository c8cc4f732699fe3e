//! A server for a contract whose store keeps rows: `schemas/tracker` has the entities, `generated` is what
//! `tabellion_codegen::generate` makes of it. All operations follow from the entities, so that a person writes none of them.
//!
//! `cargo run -p tabellion-it --bin tracker -- FOLDER` keeps its data in that folder, and serves standard input and output.

mod generated;

use std::{env, error::Error, path::PathBuf};

use generated::tracker::{ROWS, Service, Tracker};

/// An implementation without a method.
struct Rules;

impl Tracker for Rules {}

fn main() -> Result<(), Box<dyn Error>> {
    let folder: PathBuf = env::args_os().nth(1).ok_or("usage: tracker FOLDER")?.into();
    let server = tabellion::Server::open_rows("tracker", env!("CARGO_PKG_VERSION"), folder, &ROWS)?;
    let service = Service::new(Rules, server.records());
    Ok(server.with(service).serve_stdio()?)
}
