//! The program `tabellion-conformance`, as a binary of this package: Cargo builds it for the tests and tells them where it is.

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    tabellion_conformance::cli::main(tabellion_conformance::cli::Cli::parse())
}
