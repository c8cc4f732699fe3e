//! The command line. Exit codes: `tabellion_conformance::exit`.

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    tabellion_conformance_cli::main(tabellion_conformance_cli::Cli::parse())
}
