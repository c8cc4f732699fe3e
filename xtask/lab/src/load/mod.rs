//! Measures many concurrent clients: the same calls over HTTP with and without TLS, over standard input and output, and
//! optionally to another server.
//!
//! Each caller makes its next call after the answer to the last one: reads of shared documents, writes of its own document,
//! additions to one shared document. Afterwards the task checks on disk that acknowledged changes are there. Over HTTP each
//! caller has its own connection, and obstructive clients send half a request or half a handshake, or request much and
//! hardly read. `caller.rs` chooses the calls, `http.rs` (with `tls.rs`) and `lines.rs` transport them, `tally.rs` counts.

mod caller;
mod http;
mod lines;
mod shared;
mod tally;
mod tls;

use std::{
    fs,
    num::NonZero,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use clap::ValueEnum as _;
use tabellion_conformance::{Target, ledger};
use tempfile::TempDir;

use self::{
    caller::{Caller, Dialect},
    http::Address,
    tally::Tally,
    tls::Certificate,
};
use xtask::{Outcome, root, run};

use self::shared::{DOCUMENT_BYTES, DOCUMENTS, LARGE, LARGE_BYTES, SHARED};
use crate::served::Served;

/// Options of `cargo lab load`.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Duration of the calls over each transport, in seconds
    #[arg(long, value_name = "N", default_value_t = 60)]
    seconds: u64,
    /// Number of concurrent callers
    #[arg(long, value_name = "N", default_value = "200")]
    callers: NonZero<usize>,
    /// Percentage of calls that change something
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(..=100))]
    changes: u32,
    /// Transport; all of them if none is given
    #[arg(long, value_name = "NAME")]
    over: Option<Transport>,
    /// Command of the official filesystem server, to measure as well; `{library}` is the folder
    #[arg(long, value_name = "COMMAND")]
    beside: Option<String>,
    /// Folder in which to create the libraries; its disk is part of what is measured
    #[arg(long, value_name = "DIR", default_value = "target")]
    within: PathBuf,
}

/// How the callers reach the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Transport {
    Http,
    Tls,
    Lines,
}

impl Transport {
    fn name(self) -> &'static str {
        match self {
            Self::Http => "HTTP",
            Self::Tls => "HTTP with TLS",
            Self::Lines => "lines",
        }
    }

    fn measure(self, options: &Options, library: &Path) -> Outcome<Tally> {
        match self {
            Self::Http => over_http(options, library, None),
            Self::Tls => over_http(options, library, Some(&Certificate::new()?)),
            Self::Lines => over_lines(options, library),
        }
    }
}

/// Makes the calls over each transport, prints a table, and fails if a call was refused or a change lost.
pub(crate) fn all(options: &Options) -> Outcome {
    run::release("tabellion")?;
    println!("{}", tally::HEAD);
    let mut wrong = Vec::new();
    let transports = match &options.over {
        Some(one) => std::slice::from_ref(one),
        None => Transport::value_variants(),
    };
    for transport in transports {
        let (name, library) = (transport.name(), library(options)?);
        let tally = transport.measure(options, library.path())?;
        println!("{}", tally.row(&format!("ours, {name}")));
        wrong.extend(tally.faults().map(|fault| format!("{name}: {fault}")));
        let untidy = ledger::git(library.path(), &["status", "--porcelain"])?;
        if !untidy.is_empty() {
            wrong.push(format!("{name}: left uncommitted: {untidy}"));
        }
        ledger::fsck(library.path())?;
    }
    if let Some(command) = &options.beside {
        let library = library(options)?;
        let tally = beside(options, command, library.path())?;
        println!("{}", tally.row("filesystem server, lines"));
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n").into()) }
}

/// Uses TLS if there is a certificate.
fn over_http(options: &Options, library: &Path, certificate: Option<&Certificate>) -> Outcome<Tally> {
    let secure = certificate.map(Certificate::options).unwrap_or_default();
    let server = Served::start(&run::released("tabellion"), library, &secure)?;
    let door = Address { url: &server.url, certificate };
    let callers = callers(options, Dialect::Ours);
    http::run(door, server.id(), callers, Duration::from_secs(options.seconds))
        .and_then(|(callers, usage)| Tally::count(callers, usage, library, options.seconds))
}

fn over_lines(options: &Options, library: &Path) -> Outcome<Tally> {
    let mut command = Command::new(run::released("tabellion"));
    command.arg("serve").arg("--library").arg(library);
    let server = Target::start(command.stderr(Stdio::inherit()))?;
    lines::run(server, callers(options, Dialect::Ours), options.seconds)
        .and_then(|(callers, usage)| Tally::count(callers, usage, library, options.seconds))
}

fn beside(options: &Options, command: &str, library: &Path) -> Outcome<Tally> {
    let at = library.to_str().ok_or("a folder with a strange name")?;
    let mut words = command.split_whitespace().map(|word| word.replace("{library}", at));
    let mut command = Command::new(words.next().ok_or("no command")?);
    let server = Target::start(command.args(words).stderr(Stdio::null()))?;
    let dialect = Dialect::Filesystem(library.to_owned());
    lines::run(server, callers(options, dialect), options.seconds)
        .and_then(|(callers, usage)| Tally::count(callers, usage, library, options.seconds))
}

fn callers(options: &Options, dialect: Dialect) -> Vec<Caller> {
    (0..options.callers.get()).map(|number| Caller::new(number, dialect.clone(), options.changes)).collect()
}

/// Creates a library with the documents to read, in one commit.
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
