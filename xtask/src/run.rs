//! Programs that tasks run, and the exit codes of tasks.

use std::{
    env,
    path::PathBuf,
    process::{Command, ExitCode},
};

use crate::{Outcome, foreign::Missing, root};

/// Exit code of a task that could not be tried because a program is missing, as in Automake's tests.
const SKIPPED: u8 = 77;

/// Prints a task's error; returns the exit code: 0, 1, or 77 if only a program is missing.
#[must_use]
pub fn exit(outcome: Outcome) -> ExitCode {
    let Err(error) = outcome else {
        return ExitCode::SUCCESS;
    };
    eprintln!("{error}");
    if error.is::<Missing>() { ExitCode::from(SKIPPED) } else { ExitCode::FAILURE }
}

/// Runs cargo in the workspace's root; its output is not captured.
///
/// # Errors
/// If it fails; with [`Missing`] if it ran a task that could not be tried.
pub fn cargo(arguments: &[&str]) -> Outcome {
    cargo_with(arguments, &[])
}

/// As [`cargo`], with additional environment variables.
pub fn cargo_with(arguments: &[&str], variables: &[(&str, &str)]) -> Outcome {
    let program = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status =
        Command::new(program).args(arguments).envs(variables.iter().copied()).current_dir(root()).status()?;
    match status.code() {
        Some(0) => Ok(()),
        Some(code) if code == i32::from(SKIPPED) => {
            Err(Missing::boxed("a program is missing, as printed above"))
        }
        _ => Err(format!("`cargo {}` failed", arguments.join(" ")).into()),
    }
}

/// Runs git in the workspace's root; returns its standard output.
pub fn git(arguments: &[&str]) -> Outcome<String> {
    let output = Command::new("git").args(arguments).current_dir(root()).output()?;
    if output.status.success() {
        return Ok(String::from_utf8(output.stdout)?);
    }
    Err(format!("`git {}` failed: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr).trim())
        .into())
}

/// Returns the current commit; `None` if the tree has changes that are not committed.
pub fn clean_head() -> Outcome<Option<String>> {
    let is_clean = git(&["status", "--porcelain"])?.is_empty();
    Ok(is_clean.then_some(git(&["rev-parse", "HEAD"])?.trim().to_owned()))
}

/// Builds a binary of the workspace in debug mode; returns its path.
///
/// The whole workspace is selected, with an example. Cargo then unifies features as for `cargo test --workspace`, and reuses
/// that build.
pub fn program(name: &str) -> Outcome<PathBuf> {
    let chosen = ["build", "--quiet", "--workspace", "--bin", name, "--example", "notes"];
    cargo(&chosen)?;
    built(name)
}

/// Builds a binary of the workspace in release mode; returns its path.
pub fn release(name: &str) -> Outcome<PathBuf> {
    cargo(&["build", "--release", "--quiet", "--bin", name])?;
    Ok(released(name))
}

/// Returns the path of a program of the workspace in release mode, which need not be built yet; that of an example begins with `examples/`.
#[must_use]
pub fn released(name: &str) -> PathBuf {
    root().join("target/release").join(name)
}

/// Returns the path of a built binary of the workspace, in debug mode.
///
/// # Errors
/// If the folder of this program is unknown.
pub fn built(name: &str) -> Outcome<PathBuf> {
    let ours = env::current_exe()?;
    let folder = ours.parent().ok_or("no folder of binaries")?;
    Ok(folder.join(name).with_extension(env::consts::EXE_EXTENSION))
}
