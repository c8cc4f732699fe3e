//! The command line. Exit codes: [`tabellion_conformance::exit`].

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    tabellion_conformance::cli::main(tabellion_conformance::cli::Cli::parse())
}
