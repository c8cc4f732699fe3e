//! Serves a library as the reference implementation, or as one of its mutants.

use std::{net::SocketAddr, path::PathBuf, process::ExitCode};

use clap::Parser;
use tabellion_reference::{
    mutant::Specimen,
    small::{self, Break},
};

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
    /// Serve this other contract
    #[arg(long, value_name = "NAME", conflicts_with_all = ["mutant", "http"])]
    contract: Option<String>,
    /// Its one document, in the library
    #[arg(long, value_name = "PATH", requires = "contract")]
    document: Option<String>,
    /// Break one promise of it
    #[arg(long = "break", value_name = "NAME", value_parser = broken, requires = "contract")]
    broken: Option<&'static Break>,
}

fn broken(name: &str) -> Result<&'static Break, String> {
    let found = small::breaks().find(|it| it.name == name);
    found.ok_or_else(|| {
        let names: Vec<_> = small::breaks().map(|it| it.name).collect();
        format!("there is {}", names.join(", "))
    })
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let mutant = arguments.mutant.map(|specimen| specimen.mutant);
    let served = match &arguments.contract {
        Some(contract) => {
            let document = arguments.document.as_deref();
            small::serve(&arguments.library, contract, document, arguments.broken).map_err(Into::into)
        }
        None => tabellion_reference::serve(&arguments.library, mutant, arguments.http),
    };
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
