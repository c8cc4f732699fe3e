//! The servers for tests, in one program. The first argument selects one of the examples of `tabellion-codegen`, the server for
//! the official conformance suite, or the server with a tool that changes several documents; without such a name, this is the
//! `tabellion` program.
//!
//! Cargo builds a package's own programs for its tests, and passes them the paths.

#![allow(clippy::disallowed_methods, reason = "these are examples and subjects of tests")]

#[path = "../../../codegen/examples/bulletin/server.rs"]
mod bulletin;
#[path = "../../../codegen/examples/desk/server.rs"]
mod desk;
mod official_suite;
mod several;
#[path = "../../../codegen/examples/tracker/server.rs"]
mod tracker;

use std::{env, process::ExitCode};

fn main() -> ExitCode {
    let mut arguments = env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned());
    let name = arguments.next().unwrap_or_default();
    let served = match name.as_str() {
        "bulletin" => bulletin::serve(arguments),
        "desk" => desk::serve(arguments),
        "official-suite" => official_suite::serve(arguments),
        "several-documents" => several::serve(arguments),
        "tracker" => tracker::serve(arguments),
        _ => return tabellion::cli::main(),
    };
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
