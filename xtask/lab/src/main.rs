//! `cargo lab`: tasks that need the product. They judge it, measure it, torture it, and have foreign clients use it.

mod bench;
mod call;
mod changed;
mod headings;
mod interop;
mod load;
mod measure;
mod official;
mod platforms;
mod quality;
mod scoreboard;
mod served;
mod suite;
mod times;
mod torture;
mod zoo;

use std::{path::PathBuf, process::ExitCode};

use clap::{Parser, Subcommand};

/// Tasks of Tabellion that need the product
#[derive(Debug, Parser)]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Run the fault injection tests in their long form: every fault point, crowds, concurrent edits, a long life
    Torture {
        /// Seed of the random numbers; it is printed, to repeat a run
        #[arg(long, value_name = "N")]
        seed: Option<u64>,
        /// Time limit of each test, in seconds
        #[arg(long, value_name = "SECONDS", default_value_t = 300)]
        each: u64,
        /// Run only tests whose name contains this
        #[arg(long, value_name = "NAME", default_value = "")]
        only: String,
    },
    /// Run the conformance suite against each contract's server, over each of its transports
    Suite(suite::Arguments),
    /// Run all checks against the reference implementation, and each mutant against the checks that must detect it
    Zoo(zoo::Options),
    /// Run MCP's official conformance suite against the server, for both eras
    McpConformance,
    /// Check for Windows and macOS on Linux: types, and with Wine the Windows program
    Platforms,
    /// Run foreign clients against the server, over both transports and in both eras
    Interop,
    /// Compare the sections that the conformance suite and the server find in real documents
    Headings {
        /// Markdown files, folders of them, or the CommonMark specification with its examples
        #[arg(required = true)]
        paths: Vec<PathBuf>,
    },
    /// Time calls beside git, ripgrep and a minimal server, on libraries of several sizes
    Bench(bench::Options),
    /// Show how well texts are found, on public collections of labelled queries
    Quality(quality::Options),
    /// Run the suite on published servers, and write the page of what each claims and keeps
    Scoreboard(scoreboard::Options),
    /// Call from many clients at once, over HTTP and over lines, and look for acknowledged changes on disk
    Load(load::Options),
}

fn main() -> ExitCode {
    tabellion_conformance_cli::add_packs();
    xtask::run::exit(match Cli::parse().task {
        Task::Torture { seed, each, only } => torture::all(seed, each, &only),
        Task::Suite(arguments) => suite::judge(&arguments),
        Task::Zoo(options) => zoo::keep(&options),
        Task::McpConformance => official::suite(),
        Task::Platforms => platforms::check(),
        Task::Interop => interop::all(),
        Task::Headings { paths } => headings::compare(&paths),
        Task::Bench(options) => bench::all(&options),
        Task::Quality(options) => quality::print(&options),
        Task::Scoreboard(options) => scoreboard::make(&options),
        Task::Load(options) => load::all(&options),
    })
}
