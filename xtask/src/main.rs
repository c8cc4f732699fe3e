//! `cargo xtask`: tasks that maintain the tree. Of the tree, they need only `tabellion-codegen`.

mod browser;
mod circles;
mod codegen;
mod compat;
mod deny;
mod dist;
mod history;
mod language;
mod nextest;
mod postgres;
mod readme;
mod test;
mod tidy;
mod times;
mod words;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use xtask::run;

/// Development tasks of Tabellion
#[derive(Debug, Parser)]
#[command(after_help = "Tasks that need the product, such as `zoo` and `bench`: `cargo lab --help`")]
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
    /// Run everything that CI runs; keep all times in `target/times`
    Test(test::Options),
    /// Refuse words, patterns, circles of modules and commits that the contribution guide advises against
    Tidy,
    /// Drive the page in a real browser
    Browser,
    /// Test rows in PostgreSQL
    Postgres {
        /// Also run what takes minutes
        #[arg(long)]
        all: bool,
        /// Measure how fast rows are created instead, for this number of seconds each
        #[arg(long, value_name = "SECONDS", conflicts_with = "all")]
        speed: Option<u64>,
    },
    /// Build the programs that are released, and the packages that install them
    Dist(dist::Options),
    /// Show a guided tour on a temporary library
    Demo,
}

fn main() -> ExitCode {
    xtask::run::exit(match Cli::parse().task {
        Task::Codegen { check: true, .. } => codegen::check(),
        Task::Codegen { watch: true, .. } => codegen::watch(),
        Task::Codegen { .. } => codegen::write(),
        Task::Compat { base } => compat::compare(&base),
        Task::Test(options) => test::all(&options),
        Task::Tidy => tidy::check(),
        Task::Browser => browser::test(),
        Task::Postgres { speed: Some(seconds), .. } => postgres::measure(seconds),
        Task::Postgres { all, .. } => postgres::test(all),
        Task::Dist(options) => dist::make(&options),
        Task::Demo => run::cargo(&["run", "--release", "--", "demo"]),
    })
}
