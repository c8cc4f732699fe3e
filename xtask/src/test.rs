//! Everything that CI runs, in the order in which it tells most soonest.

use std::time::Instant;

use crate::{Outcome, codegen, run, zoo};

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
    step("conformance checks, by the servers that break them", || {
        zoo::keep(&zoo::Options::default())
    })?;
    step("documentation", || {
        run::cargo_with(&["doc", "--workspace", "--no-deps", "--quiet"], &WARNINGS_DENIED)
    })
}

fn step(name: &str, check: impl FnOnce() -> Outcome) -> Outcome {
    eprintln!("== {name}");
    let since = Instant::now();
    check()?;
    eprintln!("== {name}: passed in {:.0} s", since.elapsed().as_secs_f64());
    Ok(())
}
