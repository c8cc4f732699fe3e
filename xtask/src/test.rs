//! Everything that CI runs, in the order in which it tells most soonest. What needs programs that others wrote comes last,
//! and is left out aloud where they can't be had.

use std::time::Instant;

use crate::{Outcome, codegen, foreign::Missing, interop, official, run, tidy, zoo};

/// All members, always: chosen by itself, a package is built with other features of what it depends on, and all of that again.
const ALL: [&str; 2] = ["--workspace", "--quiet"];
/// The server with what only the official suite is to see.
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
    step("tests of the fixtures", || {
        run::cargo(&[&["test"], &ALL[..], &FIXTURES, &["--lib", "mcp::fixtures"]].concat())
    })?;
    step("conformance checks, by the servers that break them", || {
        zoo::keep(&zoo::Options::default())
    })?;
    step("documentation", || {
        run::cargo_with(&[&["doc"], &ALL[..], &["--no-deps"]].concat(), &WARNINGS_DENIED)
    })?;
    let left_out = [
        step_if_there("official conformance suite", official::suite)?,
        step_if_there("clients that others wrote", interop::all)?,
    ];
    left_out
        .iter()
        .flatten()
        .for_each(|left_out| eprintln!("{left_out}"));
    Ok(())
}

/// Runs a check that needs programs of others. Where they can't be had, what to say of that.
fn step_if_there(name: &str, check: impl FnOnce() -> Outcome) -> Outcome<Option<String>> {
    match step(name, check) {
        Ok(()) => Ok(None),
        Err(missing) if missing.is::<Missing>() => Ok(Some(format!(
            "== {name}: LEFT OUT, for want of a program: {missing}"
        ))),
        Err(error) => Err(error),
    }
}

fn step(name: &str, check: impl FnOnce() -> Outcome) -> Outcome {
    eprintln!("== {name}");
    let since = Instant::now();
    check()?;
    eprintln!("== {name}: passed in {:.0} s", since.elapsed().as_secs_f64());
    Ok(())
}
