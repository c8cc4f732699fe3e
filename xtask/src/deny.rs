//! Licences, bans and sources of the dependencies, checked by cargo-deny according to `.cargo/deny.toml`.

use std::process::Command;

use xtask::{Outcome, foreign::Missing, root, run};

const CONFIGURATION: &str = ".cargo/deny.toml";

/// Checks all dependencies of the workspace, without the network.
///
/// # Errors
/// With [`Missing`] if cargo-deny is not installed; otherwise if a dependency is not permitted.
pub(crate) fn check() -> Outcome {
    let installed = Command::new("cargo")
        .args(["deny", "--version"])
        .current_dir(root())
        .output()
        .is_ok_and(|output| output.status.success());
    if !installed {
        return Err(Missing::boxed(
            "cargo-deny is not installed; `cargo install cargo-deny --locked` installs it",
        ));
    }
    run::cargo(&["deny", "--offline", "--config", CONFIGURATION, "check", "licenses", "bans", "sources"])
}
