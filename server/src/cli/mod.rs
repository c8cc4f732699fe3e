//! The command line: arguments, and which part of the program they start.

mod key;
mod serve;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::{console::say, demo};

/// Exit code of a run that did what it was asked to.
pub const SUCCESS: u8 = 0;
/// Exit code of a run that failed; standard error says why.
pub const FAILURE: u8 = 1;
// 2 is clap's, for a command line that can't be understood.

/// A server for Markdown libraries in git: every edit is atomic, one commit, one log entry.
#[derive(Debug, Parser)]
#[command(version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve a library to an MCP client over standard input and output, or to many over HTTP
    Serve(Box<serve::Arguments>),
    /// Make API keys for HTTP, show which there are, take them away
    #[command(subcommand)]
    Key(key::Command),
    /// Show the whole way once, on a throw-away library of real documents
    Demo,
}

/// Runs the program with the process's arguments.
pub fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Serve(arguments) => crate::serve::run(&(*arguments).into()),
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
