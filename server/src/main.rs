//! The `tabellion` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    tabellion::cli::main()
}
