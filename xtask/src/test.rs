//! Everything that CI runs, in the order in which it tells most soonest. What needs programs that others wrote comes last,
//! and is left out aloud where they can't be had.

use std::time::Instant;

use crate::{Outcome, codegen, foreign::Missing, interop, official, run, zoo};

/// The server with what only the official suite is to see.
const FIXTURES: [&str; 5] = ["--quiet", "--package", "tabellion", "--features", "fixtures"];
const WARNINGS_DENIED: [(&str, &str); 1] = [("RUSTDOCFLAGS", "-D warnings")];

/// Runs all checks and tests; stops at the first that fails.
pub(crate) fn all() -> Outcome {
    step("format", || run::cargo(&["fmt", "--all", "--check"]))?;
    step("generated code and tables", codegen::check)?;
    step("lints", || {
        run::cargo(&[
            "clippy",
            "--workspace",
            "--all-targets",
            "--quiet",
            "--",
            "-D",
            "warnings",
        ])
    })?;
    step("tests", || run::cargo(&["test", "--workspace", "--quiet"]))?;
    step("lints and tests of the fixtures", || {
        let strictly = ["--all-targets", "--", "-D", "warnings"];
        run::cargo(&[&["clippy"][..], &FIXTURES, &strictly].concat())?;
        run::cargo(&[&["test"][..], &FIXTURES, &["--lib", "mcp::fixtures"]].concat())
    })?;
    step("conformance checks, by the servers that break them", || {
        zoo::keep(&zoo::Options::default())
    })?;
    step("documentation", || {
        run::cargo_with(&["doc", "--workspace", "--no-deps", "--quiet"], &WARNINGS_DENIED)
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
