//! The command line, with a file for each subcommand.

mod explain;
mod list;
mod outputs;
mod replay;
mod report;
mod run;
mod server;
mod smoke;
mod template;
mod trouble;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use self::trouble::Trouble;
use crate::exit;

/// Test which of a contract's guarantees an MCP server keeps, by what it leaves on the disk and in git
#[derive(Debug, Parser)]
#[command(version, about, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the checks against a server
    Run(Box<run::Arguments>),
    /// Run one saved failing case again
    Replay(Box<replay::Arguments>),
    /// Show reports written by `run --json`, several servers side by side
    Report(report::Arguments),
    /// Call each tool once, to check whether the adapter or the server is at fault
    Smoke(smoke::Arguments),
    /// Print a draft of an adapter, for a server whose tools differ from the contract's
    Template(template::Arguments),
    /// List the checks
    List(list::Arguments),
    /// Explain what a check requires, why, and how it is tested
    Explain(explain::Arguments),
}

/// Runs the command.
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
