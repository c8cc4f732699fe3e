//! Runs the fault injection tests in their long form, one after another.

use std::time::{SystemTime, UNIX_EPOCH};

use xtask::{Outcome, run};

/// Runs the tests whose names contain `only`, each for at most `seconds`.
pub(crate) fn all(seed: Option<u64>, seconds: u64, only: &str) -> Outcome {
    let seed = match seed {
        Some(seed) => seed,
        None => SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs(),
    };
    println!("seed {seed}, at most {seconds} s a test");
    let tests = format!("torture::{only}");
    let cargo = ["test", "--release", "--quiet", "--package", "tabellion-it", "--test", "it"];
    let arguments = [&cargo[..], &[&tests, "--", "--nocapture", "--test-threads=1"]].concat();
    let (seed, seconds) = (seed.to_string(), seconds.to_string());
    run::cargo_with(&arguments, &[("TABELLION_TORTURE_SEED", &seed), ("TABELLION_TORTURE_SECONDS", &seconds)])
}
