//! Serves a library as the reference, or stands before a correct server; either as it is, or as a mutant.

use std::{error::Error, net::SocketAddr, path::PathBuf, process::ExitCode};

use clap::Parser;
use tabellion_reference::{
    CorrectServer,
    innocent::Acquitted,
    mutant::{self, Specimen},
    proxy,
};

/// A correct server of a contract, or a mutant of it, over standard input and output or HTTP
#[derive(Debug, Parser)]
#[command(name = "tabellion-reference", version)]
struct Arguments {
    /// The folder of documents, in a git repository
    #[arg(long, required_unless_present = "behind")]
    library: Option<PathBuf>,
    /// Break one promise, as the mutant of this name does
    #[arg(long, value_name = "NAME", value_parser = Specimen::find)]
    mutant: Option<&'static Specimen>,
    /// Serve a vault that does nothing wrong, as the innocent of this name
    #[arg(long, value_name = "NAME", value_parser = Acquitted::find, conflicts_with_all = ["mutant", "http"])]
    innocent: Option<&'static Acquitted>,
    /// Share the library through this bare repository, instead of serving it
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["behind", "innocent"])]
    share: Option<String>,
    /// Listen at this address, for MCP's Streamable HTTP at `/mcp`; as a proxy only for `bulletin`, which has REST below it
    #[arg(long, value_name = "ADDRESS")]
    http: Option<SocketAddr>,
    /// Command for a mutant that is a proxy: it starts a correct server, or is a person's decision on a proposal there
    #[arg(last = true, value_name = "COMMAND", conflicts_with_all = ["library", "innocent"])]
    behind: Vec<String>,
}

fn serve(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let Arguments { library, mutant, innocent, share, http, behind } = arguments;
    if let Some(Specimen { name, server, mutant, .. }) = mutant {
        match (*server == CorrectServer::Reference, behind.is_empty()) {
            (true, false) => {
                return Err(format!("`{name}` is a server by itself; leave the command out").into());
            }
            (false, true) => return Err("add the command that starts a correct server, after `--`".into()),
            _ => mutant::become_one(*mutant),
        }
    }
    let Some(library) = library else {
        let is_review = behind.get(1).is_some_and(|word| word == "review");
        let outcome = match http {
            Some(address) => proxy::serve_at(behind, *address),
            None if is_review => proxy::decide(behind),
            None => proxy::serve(behind),
        };
        return Ok(outcome?);
    };
    match (innocent, share) {
        (Some(innocent), _) => Ok(innocent.serve(library)?),
        (None, Some(address)) => tabellion_reference::share(library, address),
        (None, None) => tabellion_reference::serve(library, *http),
    }
}

fn main() -> ExitCode {
    match serve(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
