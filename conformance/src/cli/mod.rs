//! The command line: what is asked for, and what is printed. A file for each subcommand.

mod explain;
mod list;
mod outputs;
mod replay;
mod report;
mod run;
mod server;
mod smoke;
mod template;

use std::{fs, path::Path, process::ExitCode};

use clap::{Parser, Subcommand};

use crate::exit;

/// Prove or break the guarantees of any implementation of a contract, on the disk
#[derive(Debug, Parser)]
#[command(version, about, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Try a server
    Run(Box<run::Arguments>),
    /// Try a saved case again
    Replay(Box<replay::Arguments>),
    /// Show reports that `run --json` wrote, several servers side by side
    Report(report::Arguments),
    /// Tell a wrong adapter from a wrong server: call each tool once
    Smoke(smoke::Arguments),
    /// Print the first draft of an adapter, for a server that has other tools than the contract
    Template(template::Arguments),
    /// Print the checks
    List(list::Arguments),
    /// Print what a check states, why, and how it is tried
    Explain(explain::Arguments),
}

/// Why a command does not do what it should.
#[derive(Debug)]
enum Trouble {
    /// It can't be understood, or names what is not there.
    Usage(String),
    /// The tester can't do its work.
    Harness(String),
}

impl From<String> for Trouble {
    fn from(message: String) -> Self {
        Self::Usage(message)
    }
}

/// Does what the command line asks for.
pub fn main(cli: Cli) -> ExitCode {
    let done = match cli.command {
        Command::Run(arguments) => run::run(&arguments),
        Command::Replay(arguments) => replay::replay(&arguments),
        Command::Report(arguments) => report::report(&arguments),
        Command::Smoke(arguments) => smoke::run(&arguments),
        Command::Template(arguments) => template::run(&arguments),
        Command::List(arguments) => list::list(&arguments),
        Command::Explain(arguments) => explain::explain(&arguments),
    };
    let (message, code) = match done {
        Ok(code) => return ExitCode::from(code),
        Err(Trouble::Usage(message)) => (message, exit::USAGE),
        Err(Trouble::Harness(message)) => (message, exit::HARNESS),
    };
    eprintln!("error: {message}");
    ExitCode::from(code)
}

/// The text of a file.
fn read(file: &Path) -> Result<String, Trouble> {
    fs::read_to_string(file).map_err(|error| Trouble::Usage(format!("`{}`: {error}", file.display())))
}
