//! Everything that CI runs. Cheap checks come first. Checks that need programs which may be missing come last, and are
//! skipped with a message if these are not installed.

use std::time::Instant;

use crate::{Outcome, codegen, deny, foreign::Missing, interop, official, run, tidy, zoo};

/// Always all members: with a selection, Cargo chooses other features of shared dependencies, and builds them again.
const ALL: [&str; 2] = ["--workspace", "--quiet"];
/// The server with the tools, resources and prompts that MCP's official suite expects.
const FIXTURES: [&str; 2] = ["--features", "tabellion/fixtures"];
const LINTS: [&str; 4] = ["--all-targets", "--", "-D", "warnings"];
const WARNINGS_DENIED: [(&str, &str); 1] = [("RUSTDOCFLAGS", "-D warnings")];

/// Runs all checks and tests; stops at the first that fails.
pub(crate) fn all() -> Outcome {
    step("format", || run::cargo(&["fmt", "--all", "--check"]))?;
    step("words and patterns", tidy::check)?;
    step("generated code and tables", codegen::check)?;
    step("lints", || {
        run::cargo(&[&["clippy"], &ALL[..], &LINTS].concat())?;
        run::cargo(&[&["clippy"], &ALL[..], &FIXTURES, &LINTS].concat())
    })?;
    step("tests", || run::cargo(&[&["test"], &ALL[..]].concat()))?;
    step("conformance checks against reference and mutants", || {
        zoo::keep(&zoo::Options::default())
    })?;
    step("documentation", || {
        run::cargo_with(&[&["doc"], &ALL[..], &["--no-deps"]].concat(), &WARNINGS_DENIED)
    })?;
    let skipped = [
        optional_step("licences, bans and sources of dependencies", deny::check)?,
        optional_step("official conformance suite", official::suite)?,
        optional_step("foreign clients", interop::all)?,
    ];
    for message in skipped.iter().flatten() {
        eprintln!("{message}");
    }
    Ok(())
}

/// Runs a check that needs programs which may be missing. Returns a message if they are; the check is then skipped.
fn optional_step(name: &str, check: impl FnOnce() -> Outcome) -> Outcome<Option<String>> {
    match step(name, check) {
        Ok(()) => Ok(None),
        Err(missing) if missing.is::<Missing>() => Ok(Some(format!("== {name}: SKIPPED: {missing}"))),
        Err(error) => Err(error),
    }
}

fn step(name: &str, check: impl FnOnce() -> Outcome) -> Outcome {
    eprintln!("== {name}");
    let start = Instant::now();
    check()?;
    eprintln!("== {name}: passed in {:.0} s", start.elapsed().as_secs_f64());
    Ok(())
}
