//! `cargo xtask test`, in three sizes, each a superset of the one before.
//!
//! Cheap steps come first, and the first failure ends the run. Steps that need programs which may be missing come last, and are skipped
//! with a message if these are not installed. [`times`](crate::times) keeps the times of everything.

use std::{fs, process::Command, time::Instant};

use xtask::{Outcome, foreign::Missing, root, run};

use crate::{browser, codegen, deny, nextest, postgres, tidy, times::Times};

/// Always all members: with a selection, Cargo chooses other features of shared dependencies, and rebuilds them.
const ALL: [&str; 2] = ["--workspace", "--quiet"];
const LINTS: [&str; 4] = ["--all-targets", "--", "-D", "warnings"];
const WARNINGS_DENIED: [(&str, &str); 1] = [("RUSTDOCFLAGS", "-D warnings")];
/// Records the last commit on which everything passed. `cargo lab zoo --changed` reads it.
const PASSED: &str = "xtask/passed.toml";

/// Options of `cargo xtask test`.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Check format, words, imports, history, generated code, lints, and the unit and property tests
    #[arg(long)]
    fast: bool,
    /// Run everything: longer forms, all mutants, and the steps that need other programs; record in the tree that it passed
    #[arg(long, conflicts_with = "fast")]
    all: bool,
}

/// Size of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Size {
    Fast,
    Gate,
    All,
}

impl Size {
    /// Returns the profile in `.config/nextest.toml`.
    fn profile(self) -> &'static str {
        match self {
            Self::Fast => "fast",
            Self::Gate => "default",
            Self::All => "all",
        }
    }
}

/// One step of the run.
struct Step {
    name: &'static str,
    /// The smallest size with this step.
    from: Size,
    run: fn(Size) -> Outcome,
}

const STEPS: [Step; 17] = [
    Step { name: "format", from: Size::Fast, run: |_| run::cargo(&["fmt", "--all", "--check"]) },
    Step { name: "words, imports and history", from: Size::Fast, run: |_| tidy::check() },
    Step { name: "generated code and tables", from: Size::Fast, run: |_| codegen::check() },
    Step { name: "lints", from: Size::Fast, run: |_| run::cargo(&[&["clippy"], &ALL[..], &LINTS].concat()) },
    Step {
        name: "documentation",
        from: Size::Fast,
        run: |_| run::cargo_with(&[&["doc"], &ALL[..], &["--no-deps"]].concat(), &WARNINGS_DENIED),
    },
    Step { name: "build of the tests", from: Size::Fast, run: |_| nextest::build() },
    Step { name: "tests", from: Size::Fast, run: |size| nextest::run(size.profile()) },
    Step { name: "the page in a browser", from: Size::Gate, run: |_| browser::test() },
    Step { name: "rows in PostgreSQL", from: Size::Gate, run: |size| postgres::test(size == Size::All) },
    Step {
        name: "tests in documentation",
        from: Size::Gate,
        run: |_| run::cargo(&[&["test", "--doc"], &ALL[..]].concat()),
    },
    Step {
        name: "conformance of the server",
        from: Size::Gate,
        run: |size| match size {
            Size::Fast | Size::Gate => run::cargo(&["lab", "suite", "--profile", "smoke"]),
            Size::All => run::cargo(&["lab", "suite"]),
        },
    },
    Step {
        name: "conformance checks against references, innocents and mutants",
        from: Size::Gate,
        run: |size| match size {
            Size::Fast | Size::Gate => run::cargo(&["lab", "zoo", "--changed"]),
            Size::All => run::cargo(&["lab", "zoo"]),
        },
    },
    Step { name: "licences, bans and sources of dependencies", from: Size::Gate, run: |_| deny::check() },
    Step { name: "torture", from: Size::All, run: |_| run::cargo(&["lab", "torture", "--each", "20"]) },
    Step {
        name: "official conformance suite",
        from: Size::All,
        run: |_| run::cargo(&["lab", "mcp-conformance"]),
    },
    Step { name: "foreign clients", from: Size::All, run: |_| run::cargo(&["lab", "interop"]) },
    Step { name: "Windows and macOS", from: Size::All, run: |_| run::cargo(&["lab", "platforms"]) },
];

/// Runs all steps of a size; stops at the first failure.
///
/// # Errors
/// If a step fails, after its times were written.
pub(crate) fn all(options: &Options) -> Outcome {
    let size = match options {
        Options { fast: true, .. } => Size::Fast,
        Options { all: true, .. } => Size::All,
        _ => Size::Gate,
    };
    let since = Instant::now();
    // Determined before the steps: one of them writes a file.
    let commit = run::clean_head()?;
    let mut times = Times::new(size.profile())?;
    let mut skipped = Vec::new();
    let mut outcome = Ok(());
    for step in STEPS.iter().filter(|step| step.from <= size) {
        eprintln!("== {}", step.name);
        let start = Instant::now();
        outcome = (step.run)(size);
        let took = start.elapsed();
        times.add(step.name, took);
        match &outcome {
            Ok(()) => eprintln!("== {}: passed in {:.0} s", step.name, took.as_secs_f64()),
            Err(error) if error.is::<Missing>() => {
                skipped.push(format!("== {}: SKIPPED: {error}", step.name));
                outcome = Ok(());
            }
            Err(_) => break,
        }
    }
    times.finish()?;
    skipped.iter().for_each(|message| eprintln!("{message}"));
    outcome?;
    match commit {
        _ if size < Size::All => {}
        Some(commit) => record(&commit, since, &skipped)?,
        None => eprintln!("{PASSED} is not written: the tree had changes that were not committed"),
    }
    Ok(())
}

/// Writes the commit on which everything passed, the date, and the duration.
fn record(commit: &str, since: Instant, skipped: &[String]) -> Outcome {
    let date = Command::new("date").args(["-u", "+%Y-%m-%dT%H:%M:%SZ"]).output()?;
    let text = format!(
        "# Written by `cargo xtask test --all` when everything has passed.\n\
         commit = \"{commit}\"\ntime = \"{}\"\nminutes = {}\nskipped = {skipped:?}\n",
        String::from_utf8(date.stdout)?.trim(),
        since.elapsed().as_secs().div_ceil(60),
    );
    fs::write(root().join(PASSED), text)?;
    eprintln!("wrote {PASSED}; commit it");
    Ok(())
}
