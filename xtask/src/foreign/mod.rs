//! Programs that others wrote, to hold ours against: Node, packages of npm, and packages of PyPI, each in one version.
//!
//! What is not there is fetched into `target/foreign`. Where it can't be had, tasks end with [`Missing`], which says what
//! to install; `cargo xtask test` goes on without them, and says so.

mod node;
mod python;
mod said;
mod server;

use std::{
    fmt, fs,
    path::{Path, PathBuf},
    process::Command,
};

pub(crate) use self::{node::Node, python::Python, said::said, server::Served};
use crate::{Outcome, root};

/// What can't be had here, and what would help.
#[derive(Debug)]
pub(crate) struct Missing(String);

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Missing {}

impl Missing {
    pub(crate) fn boxed(what: impl Into<String>) -> Box<dyn std::error::Error> {
        Box::new(Self(what.into()))
    }
}

/// The folder called `name` of those that tasks keep for themselves.
pub(crate) fn folder(name: &str) -> PathBuf {
    root().join("target/foreign").join(name)
}

/// A folder with `packages` in it, which `install` puts there. It is made once, and anew when the packages are others.
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

/// Runs a program that fetches something, quietly.
///
/// # Errors
/// With [`Missing`] when it isn't there or doesn't get what it wants; `help` says what to do.
fn fetch(command: &mut Command, help: &str) -> Outcome {
    let program = command.get_program().to_string_lossy().into_owned();
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
