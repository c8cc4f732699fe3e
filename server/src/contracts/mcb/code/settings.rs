//! `[git]` in `.mcp-context.toml` of the workspace: which branches are indexed, and how deep.

use std::{fs, path::Path};

use serde::Deserialize;
use tabellion_runtime::rows::RowError;

use super::super::values::invalid;

/// Name of the file.
const FILE: &str = ".mcp-context.toml";
/// How many commits are indexed where nothing says so.
const DEPTH: u64 = 50;

/// The table. Keys that are not here belong to other programs.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct GitSettings {
    /// Branches; without any, the default branch.
    pub(super) branches: Vec<String>,
    /// Number of commits of each branch.
    pub(super) depth: u64,
    /// Lines as in `.gitignore`.
    pub(super) ignore_patterns: Vec<String>,
}

impl Default for GitSettings {
    fn default() -> Self {
        Self {
            branches: vec![],
            depth: DEPTH,
            ignore_patterns: vec![],
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct File {
    git: GitSettings,
}

impl GitSettings {
    /// Reads the file at the top of a work tree; without one, all is as by default.
    ///
    /// # Errors
    /// If it is not TOML, or a key has a value of another type.
    pub(super) fn read(top: &Path) -> Result<Self, RowError> {
        let Ok(text) = fs::read_to_string(top.join(FILE)) else {
            return Ok(Self::default());
        };
        let file: File = toml::from_str(&text).map_err(|error| {
            invalid(
                "settings",
                "/path",
                format!("`[git]` of `{FILE}` can't be used: {}", error.message()),
            )
        })?;
        Ok(file.git)
    }
}
