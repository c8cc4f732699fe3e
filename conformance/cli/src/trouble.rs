//! Failures of commands.

use std::{fs, path::Path};

/// The failure of a command.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The command line is invalid, or names an item that does not exist.
    Usage(String),
    /// The suite itself failed.
    Harness(String),
}

impl From<String> for Trouble {
    fn from(message: String) -> Self {
        Self::Usage(message)
    }
}

/// Reads a text file.
pub(super) fn read(file: &Path) -> Result<String, Trouble> {
    fs::read_to_string(file).map_err(|error| Trouble::Usage(format!("`{}`: {error}", file.display())))
}
