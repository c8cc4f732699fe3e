//! Builds and runs the tests with cargo-nextest, which uses all cores and records the time of each test.
//!
//! `.config/nextest.toml` has a profile for each size of `cargo xtask test`.

use std::{fs, process::Command, thread};

use xtask::{Outcome, root, run};

use crate::times;

/// The version that the configuration was written for.
const VERSION: &str = "0.9.143";
/// Tests of the fast size without cargo-nextest: all but those of these packages.
const SLOW_PACKAGES: [&str; 4] = ["--exclude", "tabellion-it", "--exclude", "tabellion-evolution"];

/// Builds all tests, and keeps each crate's build time.
pub(crate) fn build() -> Outcome {
    let is_kept = fs::create_dir_all(times::folder()).is_ok();
    run::cargo(&["test", "--workspace", "--quiet", "--no-run", "--timings"])?;
    let report = root().join("target/cargo-timings/cargo-timing.html");
    if is_kept && report.is_file() {
        fs::copy(report, times::folder().join("build.html"))?;
    }
    Ok(())
}

/// Runs the tests of a profile. Without cargo-nextest, and if it can't be installed, Cargo runs them, without times.
pub(crate) fn run(profile: &str) -> Outcome {
    if !is_installed() {
        eprintln!(
            "cargo-nextest is missing; installing it takes some minutes: cargo install --locked cargo-nextest@{VERSION}"
        );
        let package = format!("cargo-nextest@{VERSION}");
        if run::cargo(&["install", "--locked", &package]).is_err() || !is_installed() {
            eprintln!(
                "cargo-nextest can't be installed: running the tests with Cargo, slower, and without times"
            );
            let slow = if profile == "fast" { &SLOW_PACKAGES[..] } else { &[] };
            return run::cargo(&[&["test", "--workspace", "--quiet", "--all-targets"], slow].concat());
        }
    }
    // Some tests wait for a disk or a clock.
    let threads = thread::available_parallelism()?.get().div_ceil(2) * 3;
    let ran = run::cargo(&[
        "nextest",
        "run",
        "--workspace",
        "--cargo-quiet",
        "--test-threads",
        &threads.to_string(),
        "--profile",
        profile,
    ]);
    let results = root().join("target/nextest").join(profile).join("junit.xml");
    if results.is_file() {
        fs::copy(results, times::folder().join("tests.xml"))?;
    }
    ran
}

/// Runs the tests of a package once more, with these environment variables.
pub(crate) fn run_package(package: &str, variables: &[(&str, &str)]) -> Outcome {
    if is_installed() {
        let filter = format!("package({package})");
        return run::cargo_with(
            &["nextest", "run", "--workspace", "--cargo-quiet", "-E", &filter],
            variables,
        );
    }
    run::cargo_with(&["test", "--quiet", "--package", package, "--all-features"], variables)
}

fn is_installed() -> bool {
    let version = Command::new("cargo").args(["nextest", "--version"]).current_dir(root()).output();
    version.is_ok_and(|output| output.status.success())
}
