//! Programs that tasks run.

use std::{env, path::PathBuf, process::Command};

use crate::{Outcome, root};

/// Runs cargo in the workspace's root; its output is not captured.
pub(crate) fn cargo(arguments: &[&str]) -> Outcome {
    cargo_with(arguments, &[])
}

/// As [`cargo`], with additional environment variables.
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

/// Runs git in the workspace's root; returns its standard output.
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

/// Builds a binary of the workspace in debug mode, with features of its package; returns its path.
///
/// The whole workspace is selected, with an example. Cargo then unifies features as for `cargo test --workspace`, and reuses
/// that build.
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

/// Returns the path of a built binary of the workspace, in debug mode.
pub(crate) fn built(name: &str) -> Outcome<PathBuf> {
    let ours = env::current_exe()?;
    let folder = ours.parent().ok_or("no folder of binaries")?;
    Ok(folder.join(name).with_extension(env::consts::EXE_EXTENSION))
}
