//! Serves a library as a correct server, or as one of its mutants.

use std::{error::Error, net::SocketAddr, path::PathBuf, process::ExitCode};

use clap::Parser;
use tabellion_reference::{
    CorrectServer,
    innocent::Acquitted,
    mutant::{self, Specimen},
    proxy, small,
};

/// A correct server of a contract, or a mutant of it, over standard input and output or HTTP
#[derive(Debug, Parser)]
#[command(name = "tabellion-reference", version)]
struct Arguments {
    /// The folder of documents, in a git repository
    #[arg(long, required_unless_present_any = ["data", "behind"])]
    library: Option<PathBuf>,
    /// The folder for rows, for a contract whose store keeps rows
    #[arg(long, conflicts_with = "library")]
    data: Option<PathBuf>,
    /// Print the rows in that folder and their log as lines of JSON, instead of serving them
    #[arg(long, requires = "data")]
    export: bool,
    /// The contract to serve; if absent, the mutant's, or `braindrive-markdown`
    #[arg(long = "contract", value_name = "NAME", value_parser = CorrectServer::find)]
    server: Option<CorrectServer>,
    /// Break one promise, as the mutant of this name does
    #[arg(long, value_name = "NAME", value_parser = Specimen::find)]
    mutant: Option<&'static Specimen>,
    /// Serve a vault that does nothing wrong, as the innocent of this name
    #[arg(long, value_name = "NAME", value_parser = Acquitted::find, conflicts_with_all = ["server", "mutant", "http"])]
    innocent: Option<&'static Acquitted>,
    /// The mode of operation, for a contract that has modes
    #[arg(long, value_name = "NAME", conflicts_with = "library")]
    mode: Option<String>,
    /// The role of the client, for a contract that has roles
    #[arg(long = "as", value_name = "ROLE", conflicts_with = "data")]
    role: Option<String>,
    /// Share the library through this bare repository, instead of serving it
    #[arg(long, value_name = "FOLDER", conflicts_with = "data")]
    share: Option<String>,
    /// Listen at this address, for MCP's Streamable HTTP at `/mcp`; only for `braindrive-markdown`, and `bulletin`, which has REST below it
    #[arg(long, value_name = "ADDRESS")]
    http: Option<SocketAddr>,
    /// Command for a mutant that is a proxy: it starts a correct server, or is a person's decision on a proposal there
    #[arg(last = true, value_name = "COMMAND", conflicts_with_all = ["library", "data", "http", "innocent"])]
    behind: Vec<String>,
}

fn serve(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let Arguments { library, data, export, server, mutant, innocent, mode, role, share, http, behind } =
        arguments;
    if !behind.is_empty() {
        return serve_behind(*mutant, behind);
    }
    let library = match (library, data) {
        (Some(folder), _) | (None, Some(folder)) => folder,
        (None, None) => return Err("name the folder with `--library` or `--data`".into()),
    };
    if let Some(innocent) = innocent {
        return Ok(innocent.serve(library)?);
    }
    let of = mutant.map(|specimen| specimen.server);
    let server = server.or(of).unwrap_or(CorrectServer::Reference);
    if let Some(specimen) = mutant {
        let contract = specimen.server.contract().id;
        if specimen.server != server {
            return Err(format!("`{}` is a mutant of the server of `{contract}`", specimen.name).into());
        }
        mutant::become_one(specimen.mutant);
    }
    if http.is_some() && !server.is_over_http() {
        return Err(format!("`{}` is not served over HTTP", server.contract().id).into());
    }
    if data.is_some() != server.keeps_rows() {
        let message = "`--data` names the folder of a contract with rows, `--library` that of documents";
        return Err(message.into());
    }
    if mode.is_some() && server.contract().modes.is_none() {
        return Err(format!("`{}` has no modes; leave `--mode` out", server.contract().id).into());
    }
    if role.is_some() && server.contract().auth.is_none() {
        return Err(format!("`{}` has no roles; leave `--as` out", server.contract().id).into());
    }
    if let Some(address) = share {
        return match server {
            CorrectServer::Reference => tabellion_reference::share(library, address),
            _ => {
                Err(format!("a library of `{}` is not shared; leave `--share` out", server.contract().id)
                    .into())
            }
        };
    }
    match (server, http) {
        (server, _) if server.is_behind_proxy() => {
            Err("add the command that starts a correct server, after `--`".into())
        }
        (CorrectServer::Reference, _) => tabellion_reference::serve(library, *http),
        (CorrectServer::Bulletin, Some(address)) => Ok(small::serve_bulletin_at(library, *address)?),
        _ if *export => Ok(small::export(server, library)?),
        _ => {
            let (mode, role) = (mode.as_deref(), role.as_deref());
            small::serve(server, library, small::Options { mode, role })
        }
    }
}

/// Serves with the server that `command` starts, as a mutant of it.
fn serve_behind(mutant: Option<&'static Specimen>, command: &[String]) -> Result<(), Box<dyn Error>> {
    if let Some(specimen) = mutant {
        if !specimen.server.is_behind_proxy() {
            let name = specimen.name;
            return Err(format!("`{name}` is a server by itself; leave the command out").into());
        }
        mutant::become_one(specimen.mutant);
    }
    let is_review = command.get(1).is_some_and(|word| word == "review");
    let outcome = if is_review { proxy::decide(command) } else { proxy::serve(command) };
    Ok(outcome?)
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
