//! Serves a library as the reference implementation, or as one of its mutants.

use std::{net::SocketAddr, path::PathBuf, process::ExitCode};

use clap::Parser;
use tabellion_conformance::reference::{self, mutant::Specimen};

/// The reference implementation of the contract `braindrive-markdown`, over standard input and output or HTTP
#[derive(Debug, Parser)]
#[command(name = "tabellion-reference", version)]
struct Arguments {
    /// The folder of documents, in a git repository
    #[arg(long)]
    library: PathBuf,
    /// Break one promise, as the mutant of this name does
    #[arg(long, value_parser = Specimen::named)]
    mutant: Option<&'static Specimen>,
    /// Listen at this address, for MCP's Streamable HTTP at `/mcp`
    #[arg(long, value_name = "ADDRESS")]
    http: Option<SocketAddr>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let mutant = arguments.mutant.map(|specimen| specimen.mutant);
    match reference::serve(&arguments.library, mutant, arguments.http) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
