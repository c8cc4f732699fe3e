//! A server for a contract whose store keeps rows: `schemas/tracker` has the entities, `generated` is what
//! [`tabellion_codegen::generate`] makes of it. All operations follow from the entities, so that a person writes none of them.
//!
//! `cargo run -p tabellion-it --bin tracker -- FOLDER` keeps its data in that folder, and serves standard input and output.

mod generated;

use std::{env, error::Error, path::PathBuf, sync::Arc};

use generated::tracker::{ROWS, Service, Tracker};
use tabellion_mcp::{Adapter, ApprovalPolicy, Offer, ServerInfo, serve_stdio};
use tabellion_records::{Records, Start};

/// An implementation without a method.
struct Rules;

impl Tracker for Rules {}

fn main() -> Result<(), Box<dyn Error>> {
    let folder: PathBuf = env::args_os().nth(1).ok_or("usage: tracker FOLDER")?.into();
    let records = Records::open(&folder, &ROWS, Start::Serve)?;
    let info = ServerInfo {
        name: "tracker".into(),
        version: env!("CARGO_PKG_VERSION").into(),
        instructions: None,
    };
    let service = Arc::new(Service::new(Rules, Arc::new(records)));
    let adapter = Adapter::new(vec![service], Offer::default(), info, ApprovalPolicy::default())?;
    let runtime = tokio::runtime::Runtime::new()?;
    let served = runtime.block_on(serve_stdio(adapter, std::future::pending()));
    runtime.shutdown_background();
    Ok(served?)
}
