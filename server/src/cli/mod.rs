//! The command line: its arguments, and the part of the program that each command starts.

mod clients;
mod install;
mod key;
mod serve;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::{console::say, demo};

/// Exit code of a successful run.
pub const SUCCESS: u8 = 0;
/// Exit code of a failed run; standard error says why.
pub const FAILURE: u8 = 1;
// Exit code 2 is clap's, for an invalid command line.

/// A server for Markdown libraries in git: every edit is atomic, one commit, one log entry.
#[derive(Debug, Parser)]
#[command(version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve a library to one MCP client over standard input and output, or to several clients over HTTP
    Serve(Box<serve::Arguments>),
    /// Enter a library into the configuration of MCP clients
    Install(Box<install::Install>),
    /// Remove it from the configuration of MCP clients
    Uninstall(install::Uninstall),
    /// List the MCP clients, their configuration files, and their entries that are Tabellion's
    Clients(clients::Clients),
    /// Create, list and revoke API keys for HTTP
    #[command(subcommand)]
    Key(key::Command),
    /// Show a guided tour on a temporary library of real documents
    Demo,
}

/// Runs the program with the arguments of the process.
pub fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Serve(arguments) => crate::serve::run(&(*arguments).into()),
        Command::Install(arguments) => install::install(&arguments),
        Command::Uninstall(arguments) => install::uninstall(&arguments),
        Command::Clients(arguments) => clients::run(&arguments),
        Command::Key(command) => key::run(&command),
        Command::Demo => demo::run(),
    };
    match done {
        Ok(()) => ExitCode::from(SUCCESS),
        Err(error) => {
            say(error);
            ExitCode::from(FAILURE)
        }
    }
}
