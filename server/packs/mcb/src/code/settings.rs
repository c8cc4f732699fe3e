//! `[git]` in `.mcp-context.toml` of the workspace: the branches to index, and the number of their commits.

use std::{io, path::Path};

use serde::Deserialize;
use tabellion_platform::{Dir, OpenError, slashed};

/// Name of the file.
pub(super) const FILE: &str = ".mcp-context.toml";
/// Size limit of the file.
const MAX_BYTES: u64 = 1 << 20;
/// Default number of commits.
const DEPTH: u64 = 50;

/// The table. Other tables belong to other programs.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
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
        Self { branches: vec![], depth: DEPTH, ignore_patterns: vec![] }
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct File {
    git: GitSettings,
}

impl GitSettings {
    /// Reads the file at the top of a work tree, below the workspace `root`; returns the defaults if there is none.
    ///
    /// # Errors
    /// If it is a link or not a regular file, is not TOML, a key is unknown, or has a value of another type.
    pub(super) fn read(root: &Path, top: &Path) -> Result<Self, String> {
        let path = top.strip_prefix(root).ok().and_then(|top| slashed(&top.join(FILE)));
        let read = Dir::open(root).map_err(OpenError::from);
        let read = read.and_then(|root| root.read(&path.unwrap_or_default(), MAX_BYTES));
        let bytes = match read {
            Ok(bytes) => bytes,
            Err(OpenError::Io(error)) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Self::default());
            }
            Err(error) => return Err(format!("`{FILE}` can't be read: {error}")),
        };
        let text = String::from_utf8_lossy(&bytes);
        let file: File = toml::from_str(&text)
            .map_err(|error| format!("`[git]` of `{FILE}` can't be used: {}", error.message()))?;
        Ok(file.git)
    }
}
