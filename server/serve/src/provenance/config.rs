//! Configured provenance: `[provenance]` in the file `.mcp-context.toml` of the workspace, then of the server's own folders.
//!
//! Other tables of the file belong to other programs. It is read once, when the server starts.

use std::{
    io,
    path::{Path, PathBuf},
};

use serde_json::{Map, Value};
use tabellion_platform::{Dir, OpenError};
use tabellion_runtime::spec::{ProvenanceField, ProvenancePlace, ProvenanceType};

/// Name of the file.
const FILE: &str = ".mcp-context.toml";
/// Size limit of the file.
const MAX_BYTES: u64 = 1 << 20;
/// Name of the table.
const TABLE: &str = "provenance";

/// The reason that a configuration can't be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// It can't be read.
    #[error("can't read `{}`: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: OpenError,
    },
    /// It is not TOML.
    #[error("`{}` is not TOML: {source}", path.display())]
    Toml {
        /// The file.
        path: PathBuf,
        /// The position and the error.
        source: Box<toml::de::Error>,
    },
    /// A key is not a field, or its value is of another type.
    #[error("`{key}` in `[provenance]` of `{}` {what}", path.display())]
    Key {
        /// The file.
        path: PathBuf,
        /// The key.
        key: String,
        /// The problem, and its remedy.
        what: String,
    },
}

/// The configured fields of provenance.
#[derive(Debug, Default)]
pub(super) struct Config(Map<String, Value>);

impl Config {
    /// Reads the file of the work tree around `workspace`, then those in `folders`; an earlier value takes
    /// precedence. Without any `fields` no file is read.
    pub(super) fn read(
        workspace: &Path,
        folders: &[PathBuf],
        fields: &[&ProvenanceField],
    ) -> Result<Self, ConfigError> {
        let mut config = Self::default();
        if fields.is_empty() {
            return Ok(config);
        }
        let of_workspace = of_workspace(workspace).map(Path::to_owned);
        for folder in of_workspace.into_iter().chain(folders.iter().cloned()) {
            for (field, value) in table(&folder, fields)? {
                config.0.entry(field).or_insert(value);
            }
        }
        Ok(config)
    }

    pub(super) fn value(&self, field: &str) -> Option<&Value> {
        self.0.get(field)
    }
}

/// Returns `folder` or the nearest folder above it that contains the file, up to the top of its work tree.
fn of_workspace(folder: &Path) -> Option<&Path> {
    for folder in folder.ancestors() {
        if folder.join(FILE).symlink_metadata().is_ok() {
            return Some(folder);
        }
        if folder.join(".git").symlink_metadata().is_ok() {
            return None;
        }
    }
    None
}

/// Returns the fields in a folder's file; none if there is no file.
fn table(folder: &Path, fields: &[&ProvenanceField]) -> Result<Map<String, Value>, ConfigError> {
    let path = &folder.join(FILE);
    let read = Dir::open(folder).map_err(OpenError::from);
    let text = match read.and_then(|folder| folder.read(FILE, MAX_BYTES)) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(OpenError::Io(error)) if error.kind() == io::ErrorKind::NotFound => return Ok(Map::new()),
        Err(source) => {
            let path = path.to_owned();
            return Err(ConfigError::Io { path, source });
        }
    };
    let file: toml::Table = toml::from_str(&text)
        .map_err(|source| ConfigError::Toml { path: path.to_owned(), source: Box::new(source) })?;
    let wrong =
        |key: &str, what: String| ConfigError::Key { path: path.to_owned(), key: key.to_owned(), what };
    let table = match file.get(TABLE) {
        None => return Ok(Map::new()),
        Some(toml::Value::Table(table)) => table,
        Some(_) => return Err(wrong(TABLE, "must be a table".into())),
    };
    let known = || fields.iter().filter(|field| field.from.contains(&ProvenancePlace::Config));
    let mut found = Map::new();
    for (key, value) in table {
        let Some(field) = known().find(|field| field.name == key) else {
            let names: Vec<_> = known().map(|field| field.name).collect();
            return Err(wrong(key, format!("can't be configured; these can: {}", names.join(", "))));
        };
        let value: Value = match (field.kind, value) {
            (ProvenanceType::String, toml::Value::String(text)) => text.as_str().into(),
            (ProvenanceType::Integer, toml::Value::Integer(integer)) => (*integer).into(),
            (ProvenanceType::Boolean, toml::Value::Boolean(boolean)) => (*boolean).into(),
            (kind, other) => {
                return Err(wrong(
                    key,
                    format!("is of type `{}`; write a value of type `{kind}`", other.type_str()),
                ));
            }
        };
        found.insert(key.clone(), value);
    }
    Ok(found)
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
