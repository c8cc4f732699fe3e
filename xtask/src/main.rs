//! `cargo xtask`: what developing Tabellion needs beside the compiler.

mod bench;
mod codegen;
mod compat;
mod deny;
mod foreign;
mod interop;
mod load;
mod measure;
mod official;
mod readme;
mod run;
mod test;
mod tidy;
mod torture;
mod zoo;

use std::{
    error::Error,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{Parser, Subcommand};

/// What a task gives back: nothing, or why it failed.
type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// Tabellion's own tasks.
#[derive(Debug, Parser)]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Write everything that follows from the contracts: Rust, and the tables in the contracts' READMEs
    Codegen {
        /// Change nothing; fail if anything is not what the contracts say
        #[arg(long)]
        check: bool,
        /// Keep running, and write again whenever a contract is saved
        #[arg(long, conflicts_with = "check")]
        watch: bool,
    },
    /// Say whether the contracts accept all that they accepted before, and show a request that is lost
    Compat {
        /// The git revision to compare with
        #[arg(long, value_name = "REV")]
        base: String,
    },
    /// Everything that CI runs: format, generated code, lints, documentation, tests
    Test,
    /// Refuse words and patterns that the contribution guide advises against
    Tidy,
    /// The tests under fire in their long form: every fault point, crowds, a person beside us, a long life
    Torture {
        /// Where chance begins; printed, so that a run can be repeated
        #[arg(long, value_name = "N")]
        seed: Option<u64>,
        /// How many seconds each test may take at most
        #[arg(long, value_name = "SECONDS", default_value_t = 300)]
        each: u64,
        /// Only the tests whose name has this in it
        #[arg(long, value_name = "NAME", default_value = "")]
        only: String,
    },
    /// Hold the reference implementation to every check, and each of its mutants to those that must see what it breaks
    Zoo(zoo::Options),
    /// Hold the server to the official conformance suite of MCP, for both eras
    McpConformance,
    /// Let clients that others wrote meet the server, over both transports and in both eras
    Interop,
    /// Show the whole way once, on a throw-away library
    Demo,
    /// Time calls beside git, ripgrep and hand-written loops, on libraries of several sizes
    Bench(bench::Options),
    /// Call from many clients at once, over HTTP and over lines, and look for what was acknowledged
    Load(load::Options),
}

fn main() -> ExitCode {
    let done = match Cli::parse().task {
        Task::Codegen { check: true, .. } => codegen::check(),
        Task::Codegen { watch: true, .. } => codegen::watch(),
        Task::Codegen { .. } => codegen::write(),
        Task::Compat { base } => compat::compare(&base),
        Task::Test => test::all(),
        Task::Tidy => tidy::check(),
        Task::Torture { seed, each, only } => torture::all(seed, each, &only),
        Task::Zoo(options) => zoo::keep(&options),
        Task::McpConformance => official::suite(),
        Task::Interop => interop::all(),
        Task::Demo => run::cargo(&["run", "--release", "--", "demo"]),
        Task::Bench(options) => bench::all(&options),
        Task::Load(options) => load::all(&options),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// The workspace's root.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask is in a workspace")
}

/// The folder of the contracts.
fn schemas() -> PathBuf {
    root().join("schemas")
}
