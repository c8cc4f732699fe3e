//! `cargo xtask`: development tasks.

mod bench;
mod codegen;
mod compat;
mod deny;
mod dist;
mod foreign;
mod headings;
mod interop;
mod load;
mod measure;
mod official;
mod platforms;
mod quality;
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

/// The result of a task.
type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// Development tasks of Tabellion
#[derive(Debug, Parser)]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Write the files generated from the contracts: Rust, and the tables in the contracts' READMEs
    Codegen {
        /// Change nothing; fail if a generated file is out of date
        #[arg(long)]
        check: bool,
        /// Keep running, and write again whenever a contract is saved
        #[arg(long, conflicts_with = "check")]
        watch: bool,
    },
    /// Check whether the contracts still accept what they accepted at a revision; show a request that would be lost
    Compat {
        /// Git revision to compare with
        #[arg(long, value_name = "REV")]
        base: String,
    },
    /// Run everything that CI runs: format, generated code, lints, documentation, tests
    Test,
    /// Refuse words and patterns that the contribution guide advises against
    Tidy,
    /// Run the fault injection tests in their long form: every fault point, crowds, concurrent edits, a long life
    Torture {
        /// Seed of the random numbers; printed, so that a run can be repeated
        #[arg(long, value_name = "N")]
        seed: Option<u64>,
        /// Time limit of each test, in seconds
        #[arg(long, value_name = "SECONDS", default_value_t = 300)]
        each: u64,
        /// Run only tests whose name contains this
        #[arg(long, value_name = "NAME", default_value = "")]
        only: String,
    },
    /// Run all checks against the reference implementation, and each mutant against the checks that must detect it
    Zoo(zoo::Options),
    /// Run MCP's official conformance suite against the server, for both eras
    McpConformance,
    /// Check for Windows and macOS on Linux: types, and with Wine the Windows program
    Platforms,
    /// Build the programs that are released, and the packages that install them
    Dist(dist::Options),
    /// Run foreign clients against the server, over both transports and in both eras
    Interop,
    /// Compare the sections that the conformance suite and the server find in real documents
    Headings {
        /// Markdown files, folders of them, or the CommonMark specification with its examples
        #[arg(required = true)]
        paths: Vec<PathBuf>,
    },
    /// Show a guided tour on a temporary library
    Demo,
    /// Time calls beside git, ripgrep and a minimal server, on libraries of several sizes
    Bench(bench::Options),
    /// Show how well texts are found, on public collections of labelled queries
    Quality(quality::Options),
    /// Call from many clients at once, over HTTP and over lines, and look for acknowledged changes on disk
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
        Task::Platforms => platforms::check(),
        Task::Dist(options) => dist::make(&options),
        Task::Interop => interop::all(),
        Task::Headings { paths } => headings::compare(&paths),
        Task::Demo => run::cargo(&["run", "--release", "--", "demo"]),
        Task::Bench(options) => bench::all(&options),
        Task::Quality(options) => quality::print(&options),
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

/// Returns the workspace's root.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask is in a workspace")
}

/// Returns the folder of the contracts.
fn schemas() -> PathBuf {
    root().join("schemas")
}
