//! The tests that drive the page in a real browser, and their prerequisites.

use std::{fs, path::PathBuf, process::Command};

use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};
use xtask::{
    Outcome,
    foreign::{Missing, Node, required},
    run,
};

/// If `required`, a missing program fails the task; else the tests are skipped with a message.
const VARIABLE: &str = "TABELLION_BROWSER";
const PROGRAMS: [&str; 2] = ["chromium", "chromedriver"];
const AXE_VERSION: &str = "4.14.1";
/// SHA-256 of axe-core's script.
const AXE_DIGEST: &str = "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c";

/// Runs the tests.
///
/// # Errors
/// With [`Missing`] if a program or axe-core is missing and not required; if a test fails.
pub(crate) fn test() -> Outcome {
    let script = required(VARIABLE, axe())?;
    let script = script.to_str().ok_or("the path of axe-core is no text")?;
    run::cargo_with(
        &["test", "--workspace", "--quiet", "--test", "it", "--", "--ignored", "browser::"],
        &[("TABELLION_AXE", script)],
    )
}

/// Returns the script of axe-core, if the browser is installed too.
fn axe() -> Outcome<PathBuf> {
    for program in PROGRAMS {
        if Command::new(program).arg("--version").output().is_err() {
            let help = format!("`{program}` is missing; install Debian's `chromium` and `chromium-driver`");
            return Err(Missing::boxed(help));
        }
    }
    let script = Node::find()?.package("axe", "axe-core", AXE_VERSION)?.join("axe.min.js");
    if HEXLOWER.encode(&Sha256::digest(fs::read(&script)?)) != AXE_DIGEST {
        return Err(format!("`{}` is not axe-core {AXE_VERSION}", script.display()).into());
    }
    Ok(script)
}
