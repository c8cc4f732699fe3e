//! Python, with packages in a virtual environment.

use std::{path::PathBuf, process::Command};

use super::{fetch, installed};
use crate::Outcome;

const HELP: &str = "install Python 3 with its `venv`; pip needs access to PyPI";

/// A Python with packages.
pub struct Python {
    folder: PathBuf,
}

impl Python {
    /// Returns a Python with these packages, in the environment called `name`.
    ///
    /// # Errors
    /// With [`Missing`](super::Missing) if it can't be created.
    pub fn with(name: &str, packages: &[&str]) -> Outcome<Self> {
        let folder = installed(name, packages, |folder| {
            fetch(Command::new("python3").args(["-m", "venv"]).arg(folder), HELP)?;
            let python = Self { folder: folder.into() };
            let mut pip = python.command();
            pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
            fetch(pip.args(packages), HELP)
        })?;
        Ok(Self { folder })
    }

    /// Returns a command that runs it.
    pub fn command(&self) -> Command {
        Command::new(self.folder.join("bin/python"))
    }

    /// Returns the folder of a module.
    pub fn folder_of(&self, module: &str) -> Outcome<PathBuf> {
        let script = format!("import {module}; print({module}.__path__[0])");
        let output = self.command().args(["-c", &script]).output()?;
        let folder = String::from_utf8(output.stdout)?;
        if folder.is_empty() {
            return Err(String::from_utf8_lossy(&output.stderr).into());
        }
        Ok(folder.trim_end().into())
    }
}
