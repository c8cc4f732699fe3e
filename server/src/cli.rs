//! The command line.

use std::{path::PathBuf, process::ExitCode};

use clap::{Args, Parser, Subcommand, ValueEnum, builder::PossibleValuesParser};

use crate::{contracts, demo, library::ExternalPolicy, serve};

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
    /// Serve a library to an MCP client over standard input and output
    Serve(Serve),
    /// Show the whole way once, on a throw-away library of real documents
    Demo,
}

/// What to serve.
#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// Folder of the library; it and its git repository are made where they are missing
    #[arg(long, value_name = "DIR", env = "BRAINDRIVE_LIBRARY_PATH")]
    pub(crate) library: PathBuf,

    /// Contract to serve; may be repeated
    #[arg(
        long = "contract",
        value_name = "NAME",
        default_value = contracts::default(),
        value_parser = PossibleValuesParser::new(contracts::names())
    )]
    pub(crate) contracts: Vec<String>,

    /// What to do with a file that was changed outside of the server and not committed, before changing it
    #[arg(long, value_name = "POLICY", value_enum, default_value_t = External::Adopt)]
    pub(crate) external: External,
}

/// What to do with uncommitted bytes of a file that is about to be changed.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum External {
    /// Record them in a commit of their own first
    Adopt,
    /// Refuse the change as a conflict
    Refuse,
}

impl From<External> for ExternalPolicy {
    fn from(external: External) -> Self {
        match external {
            External::Adopt => Self::Adopt,
            External::Refuse => Self::Refuse,
        }
    }
}

/// Runs the program with the process's arguments.
pub fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Serve(what) => serve::run(&what),
        Command::Demo => demo::run(),
    };
    match done {
        Ok(()) => ExitCode::from(SUCCESS),
        Err(error) => {
            eprintln!("tabellion: {error}");
            ExitCode::from(FAILURE)
        }
    }
}
