//! The program `tabellion-conformance`, as a binary of this package, so that Cargo builds it for the tests.

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    tabellion_conformance_cli::main(tabellion_conformance_cli::Cli::parse())
}
