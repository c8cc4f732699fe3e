//! Foreign programs for tests of ours: Node, npm packages and PyPI packages, each at one version.
//!
//! Missing programs are fetched into `target/foreign`. If that fails, tasks return [`Missing`] with instructions; `cargo xtask test` then
//! skips the step with a message.

mod node;
mod output;
pub mod postgres;
mod python;

use std::{
    env, fmt, fs,
    path::{Path, PathBuf},
    process::Command,
};

pub use self::{
    node::Node,
    output::{Output, output},
    python::Python,
};
use crate::{Outcome, root};

/// A program is missing; the text says how to install it.
#[derive(Debug)]
pub struct Missing(String);

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Missing {}

impl Missing {
    /// Returns the error of a task.
    #[must_use]
    pub fn boxed(what: impl Into<String>) -> Box<dyn std::error::Error> {
        Box::new(Self(what.into()))
    }
}

/// Returns `found`. If the environment variable is `required`, a missing program becomes another error, so that tests are not skipped.
pub fn required<T>(variable: &str, found: Outcome<T>) -> Outcome<T> {
    match found {
        Err(missing) if env::var(variable).is_ok_and(|value| value == "required") => {
            Err(missing.to_string().into())
        }
        found => found,
    }
}

/// Returns the folder `name` of the tasks' own folders.
pub fn folder(name: &str) -> PathBuf {
    root().join("target/foreign").join(name)
}

/// Returns a folder with `packages`, which `install` puts there. It is created once, and again if the packages change.
fn installed(name: &str, packages: &[&str], install: impl FnOnce(&Path) -> Outcome) -> Outcome<PathBuf> {
    let folder = folder(name);
    let (stamp, wanted) = (folder.join("installed"), packages.join("\n"));
    if fs::read_to_string(&stamp).is_ok_and(|found| found == wanted) {
        return Ok(folder);
    }
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    eprintln!("fetching {}", packages.join(", "));
    install(&folder)?;
    fs::write(stamp, wanted)?;
    Ok(folder)
}

/// Runs a program that fetches files, without its output.
///
/// # Errors
/// With [`Missing`] if it can't be run or fails; `help` is its advice.
fn fetch(command: &mut Command, help: &str) -> Outcome {
    // The name alone: tasks' messages are published in pages.
    let program = Path::new(command.get_program());
    let program = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let output = command
        .output()
        .map_err(|error| Missing::boxed(format!("`{program}` can't be run: {error}; {help}")))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.trim().lines().last().unwrap_or_default();
    Err(Missing::boxed(format!("`{program}` failed: {said}; {help}")))
}
