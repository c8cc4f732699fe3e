//! What many clients at once get: the same calls over HTTP, in the clear and over TLS, over standard input and output, and, beside
//! them, from another server over its own transport.
//!
//! Each caller makes its next call when it has the answer to the last one: reads of shared documents, writes of a document of
//! its own, additions to one that all add to. What was acknowledged is looked for on the disk afterwards. Over HTTP each has a
//! connection of its own, and others beside them send half a request or half a handshake, or ask for much and read next to
//! nothing. `caller.rs` decides what is called, `http.rs` (with `tls.rs`) and `lines.rs` carry it, `tally.rs` counts.

mod caller;
mod http;
mod lines;
mod tally;
mod tls;

use std::{
    fs,
    num::NonZero,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use tabellion_conformance::{Target, ledger};
use tempfile::TempDir;

use self::{
    caller::{Caller, Dialect},
    http::Door,
    tally::Tally,
    tls::Certificate,
};
use crate::{Outcome, foreign::Served, root, run};

/// How many documents there are to read.
const DOCUMENTS: usize = 100;
/// How many bytes each has, about.
const DOCUMENT_BYTES: usize = 3000;
/// The document that all add to.
const SHARED: &str = "shared.md";
/// A document that no client takes at once.
const LARGE: &str = "large.md";
const LARGE_BYTES: usize = 8 << 20;
/// How long any answer may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// How much load.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// How long to call, in seconds, over each transport
    #[arg(long, value_name = "N", default_value_t = 60)]
    seconds: u64,
    /// How many callers there are at once
    #[arg(long, value_name = "N", default_value = "200")]
    callers: NonZero<usize>,
    /// The command of the official filesystem server, to measure beside ours; `{library}` is the folder
    #[arg(long, value_name = "COMMAND")]
    beside: Option<String>,
    /// The folder to make the libraries in: what is measured is its disk too
    #[arg(long, value_name = "DIR", default_value = "target")]
    within: PathBuf,
}

/// Makes the calls over each transport, prints a table, and fails where anything was refused or lost.
pub(crate) fn all(options: &Options) -> Outcome {
    run::cargo(&["build", "--release", "--quiet", "--bin", "tabellion"])?;
    println!("{}", tally::HEAD);
    let mut wrong = Vec::new();
    for (name, measure) in [
        ("HTTP", over_http as Measure),
        ("HTTP with TLS", over_tls),
        ("lines", over_lines),
    ] {
        let library = library(options)?;
        let tally = measure(options, library.path())?;
        println!("{}", tally.row(&format!("ours, {name}")));
        wrong.extend(tally.faults().map(|fault| format!("{name}: {fault}")));
        let untidy = ledger::git(library.path(), &["status", "--porcelain"])?;
        if !untidy.is_empty() {
            wrong.push(format!("{name}: left uncommitted: {untidy}"));
        }
        ledger::git(library.path(), &["fsck", "--strict"])?;
    }
    if let Some(command) = &options.beside {
        let library = library(options)?;
        let tally = beside(options, command, library.path())?;
        println!("{}", tally.row("filesystem server, lines"));
    }
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(wrong.join("\n").into())
    }
}

type Measure = fn(&Options, &Path) -> Outcome<Tally>;

fn over_http(options: &Options, library: &Path) -> Outcome<Tally> {
    through(options, library, None)
}

fn over_tls(options: &Options, library: &Path) -> Outcome<Tally> {
    through(options, library, Some(&Certificate::new()?))
}

/// Over HTTP, with TLS where there is a certificate.
fn through(options: &Options, library: &Path, certificate: Option<&Certificate>) -> Outcome<Tally> {
    let secure = certificate.map(Certificate::options).unwrap_or_default();
    let server = Served::start(&program(), library, &secure)?;
    let door = Door {
        url: &server.url,
        certificate,
    };
    let callers = callers(options, Dialect::Ours);
    http::run(door, server.id(), callers, Duration::from_secs(options.seconds))
        .and_then(|(callers, memory)| Tally::of(callers, memory, library, options.seconds))
}

fn over_lines(options: &Options, library: &Path) -> Outcome<Tally> {
    let server = Target::start(&mut ours(library))?;
    lines::run(server, callers(options, Dialect::Ours), options.seconds)
        .and_then(|(callers, memory)| Tally::of(callers, memory, library, options.seconds))
}

fn beside(options: &Options, command: &str, library: &Path) -> Outcome<Tally> {
    let at = library.to_str().ok_or("a folder with a strange name")?;
    let mut words = command
        .split_whitespace()
        .map(|word| word.replace("{library}", at));
    let mut command = Command::new(words.next().ok_or("no command")?);
    let server = Target::start(command.args(words).stderr(Stdio::null()))?;
    let dialect = Dialect::Filesystem(library.to_owned());
    lines::run(server, callers(options, dialect), options.seconds)
        .and_then(|(callers, memory)| Tally::of(callers, memory, library, options.seconds))
}

fn program() -> PathBuf {
    root().join("target/release/tabellion")
}

fn ours(library: &Path) -> Command {
    let mut command = Command::new(program());
    command.arg("serve").arg("--library").arg(library);
    command.stderr(Stdio::inherit());
    command
}

fn callers(options: &Options, dialect: Dialect) -> Vec<Caller> {
    (0..options.callers.get())
        .map(|number| Caller::new(number, dialect.clone()))
        .collect()
}

/// A library with what is read, in one commit.
fn library(options: &Options) -> Outcome<TempDir> {
    let folder = tempfile::tempdir_in(root().join(&options.within))?;
    let top = folder.path();
    fs::create_dir_all(top.join("own"))?;
    fs::create_dir_all(top.join("read"))?;
    for number in 0..DOCUMENTS {
        let text = format!("# Document {number}\n\n{}\n", "word ".repeat(DOCUMENT_BYTES / 5));
        fs::write(top.join(caller::document(number)), text)?;
    }
    fs::write(top.join(SHARED), "# Shared\n")?;
    fs::write(top.join(LARGE), "a line of text\n".repeat(LARGE_BYTES / 15))?;
    for command in [
        &["init", "--quiet", "--initial-branch=main"][..],
        &["add", "--all"],
        &[
            "-c",
            "user.name=A Person",
            "-c",
            "user.email=person@localhost",
            "commit",
            "--quiet",
            "-m",
            "documents",
        ],
    ] {
        ledger::git(top, command)?;
    }
    Ok(folder)
}
