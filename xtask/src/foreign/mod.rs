//! Foreign programs for tests of ours: Node, npm packages and PyPI packages, each at one version.
//!
//! Missing programs are fetched into `target/foreign`. If that fails, tasks return [`Missing`], which says what to install;
//! `cargo xtask test` then skips the step with a message.

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

/// A program is missing; says what to install.
#[derive(Debug)]
pub struct Missing(String);

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Missing {}

impl Missing {
    /// Returns it as the error of a task.
    #[must_use]
    pub fn boxed(what: impl Into<String>) -> Box<dyn std::error::Error> {
        Box::new(Self(what.into()))
    }
}

/// Returns what was found. What is missing is an error of its own if the environment variable is `required`, so that tests are not
/// skipped.
///
/// # Errors
/// As `found`.
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

/// Runs a program that fetches something, without its output.
///
/// # Errors
/// With [`Missing`] if it can't be run or fails; `help` says what to do.
fn fetch(command: &mut Command, help: &str) -> Outcome {
    // Its name alone: what tasks say stands in pages that others read.
    let program = Path::new(command.get_program());
    let program = program
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
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
