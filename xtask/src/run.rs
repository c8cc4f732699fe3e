//! Programs that tasks run.

use std::{env, path::PathBuf, process::Command};

use crate::{Outcome, root};

/// Runs cargo in the workspace's root, with its output where ours goes.
pub(crate) fn cargo(arguments: &[&str]) -> Outcome {
    cargo_with(arguments, &[])
}

/// As [`cargo`], with variables in its environment.
pub(crate) fn cargo_with(arguments: &[&str], variables: &[(&str, &str)]) -> Outcome {
    let program = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(program)
        .args(arguments)
        .envs(variables.iter().copied())
        .current_dir(root())
        .status()?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("`cargo {}` failed", arguments.join(" ")).into())
    }
}

/// Runs git in the workspace's root; returns what it printed.
pub(crate) fn git(arguments: &[&str]) -> Outcome<String> {
    let output = Command::new("git").args(arguments).current_dir(root()).output()?;
    if output.status.success() {
        return Ok(String::from_utf8(output.stdout)?);
    }
    Err(format!(
        "`git {}` failed: {}",
        arguments.join(" "),
        String::from_utf8_lossy(&output.stderr).trim()
    )
    .into())
}

/// Builds a binary of the workspace in debug, with features of its package; returns where it is.
///
/// It is chosen from all members, and beside an example. So cargo turns on what any member and any test asks of a crate, as it
/// does for `cargo test --workspace`, and what was built for that is not built again.
pub(crate) fn program(name: &str, features: &[&str]) -> Outcome<PathBuf> {
    let chosen = [
        "build",
        "--quiet",
        "--workspace",
        "--bin",
        name,
        "--example",
        "notes",
    ];
    cargo(&[&chosen, features].concat())?;
    built(name)
}

/// Where cargo has put a binary of the workspace, in debug.
fn built(name: &str) -> Outcome<PathBuf> {
    let ours = env::current_exe()?;
    let folder = ours.parent().ok_or("no folder of binaries")?;
    Ok(folder.join(name).with_extension(env::consts::EXE_EXTENSION))
}
