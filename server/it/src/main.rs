//! The `tabellion` program, as a binary of this package: Cargo builds it for the tests and tells them where it is.

use std::process::ExitCode;

fn main() -> ExitCode {
    tabellion::cli::main()
}
