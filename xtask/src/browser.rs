//! The tests that drive the page in a real browser, and their prerequisites.

use std::{fs, path::PathBuf, process::Command};

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
const AXE_DIGEST: [u8; 32] = [
    0x29, 0x34, 0x89, 0x99, 0x45, 0x0c, 0xdf, 0x28, 0x49, 0xa8, 0xe7, 0x0b, 0x79, 0x12, 0xfc, 0x2d, 0xa8,
    0x5a, 0x84, 0x9d, 0xa3, 0x9c, 0x0d, 0x0d, 0x53, 0x94, 0xf5, 0x1d, 0x4a, 0x9e, 0xd9, 0x5c,
];

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
    if Sha256::digest(fs::read(&script)?)[..] != AXE_DIGEST {
        return Err(format!("`{}` is not axe-core {AXE_VERSION}", script.display()).into());
    }
    Ok(script)
}
