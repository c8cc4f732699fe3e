//! The programs for comparison: git, ripgrep, a minimal server, and the minimum of a durable write.

use std::{
    fs,
    io::{ErrorKind, Write},
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use tabellion_conformance::ledger;

use super::pipe::Pipe;
use xtask::{Outcome, run};

/// Options with which git's commits are as durable as ours, without other work.
const DURABLE: [&str; 6] =
    ["-c", "core.fsync=all", "-c", "core.fsyncMethod=fsync", "-c", "maintenance.auto=false"];

/// Builds one of the minimal servers, which are examples of the suite.
pub(super) fn build(name: &str) -> Outcome {
    run::cargo(&["build", "--release", "--quiet", "--package", "tabellion-conformance", "--example", name])
}

/// Starts a minimal server that reads files.
pub(super) fn floor(library: &Path) -> Outcome<Pipe> {
    Pipe::start(Command::new(run::released("examples/floor")).arg(library))
}

/// Measures the minimum of a durable replacement of a file, with the same bytes.
pub(super) fn replace(library: &Path, file: &str) -> Outcome<Duration> {
    // In git's folder, so that no file appears in the library.
    let (path, aside) = (library.join(file), library.join(".git/bench-aside"));
    let text = fs::read(&path)?;
    let folder = fs::File::open(path.parent().unwrap_or(library))?;
    let since = Instant::now();
    let mut new = fs::File::create(&aside)?;
    new.write_all(&text)?;
    new.sync_all()?;
    fs::rename(&aside, &path)?;
    folder.sync_all()?;
    Ok(since.elapsed())
}

/// Appends to a file and commits it with git.
pub(super) fn commit_with_git(library: &Path, file: &str, i: usize) -> Outcome<Duration> {
    let path = library.join(file);
    let mut text = fs::read(&path)?;
    text.extend_from_slice(format!("\ngit {i}\n").as_bytes());
    let since = Instant::now();
    fs::write(&path, text)?;
    ledger::git(library, &[&DURABLE[..], &["add", "--", file]].concat())?;
    let commit = ["commit", "--quiet", "-m", "edit"];
    ledger::git(library, &[&DURABLE[..], &commit].concat())?;
    Ok(since.elapsed())
}

/// Searches Markdown with ripgrep; `None` if it is not installed.
pub(super) fn rg(library: &Path, word: &str) -> Outcome<Option<Duration>> {
    ripgrep(library, &["-F", "-i", "-n", "-g", "*.md", word])
}

/// Searches all files with ripgrep; `None` if it is not installed.
pub(super) fn rg_in(folder: &Path, word: &str) -> Outcome<Option<Duration>> {
    ripgrep(folder, &["-F", "-i", "-n", word])
}

fn ripgrep(folder: &Path, arguments: &[&str]) -> Outcome<Option<Duration>> {
    let since = Instant::now();
    let found = Command::new("rg")
        .args(arguments)
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    match found {
        Ok(_) => Ok(Some(since.elapsed())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}
