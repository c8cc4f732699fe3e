//! Provenance that is configured: `[provenance]` in the file `.mcp-context.toml` of the workspace, then of the server's own folders.
//!
//! Other tables of the file belong to other programs. It is read once, when the server starts.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use serde_json::{Map, Value};
use tabellion_runtime::spec::{ProvenanceField, ProvenancePlace, ProvenanceType};

/// Name of the file.
const FILE: &str = ".mcp-context.toml";
/// Name of the table.
const TABLE: &str = "provenance";

/// Why a configuration can't be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigError {
    /// It can't be read.
    #[error("can't read `{}`: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// It is not TOML.
    #[error("`{}` is not TOML: {source}", path.display())]
    Toml {
        /// The file.
        path: PathBuf,
        /// Where and why.
        source: Box<toml::de::Error>,
    },
    /// A key is no field, or its value is of another type.
    #[error("`{key}` in `[provenance]` of `{}` {what}", path.display())]
    Key {
        /// The file.
        path: PathBuf,
        /// The key.
        key: String,
        /// What is wrong, and what to do.
        what: String,
    },
}

/// The configured fields of provenance.
#[derive(Debug, Default)]
pub(super) struct Config(Map<String, Value>);

impl Config {
    /// Reads the file of the work tree around `workspace`, then those in `folders`; an earlier value counts. Without any `fields` no
    /// file is read.
    pub(super) fn read(
        workspace: &Path,
        folders: &[PathBuf],
        fields: &[&ProvenanceField],
    ) -> Result<Self, ConfigError> {
        let mut config = Self::default();
        if fields.is_empty() {
            return Ok(config);
        }
        let of_workspace = of_workspace(workspace).into_iter();
        for path in of_workspace.chain(folders.iter().map(|folder| folder.join(FILE))) {
            for (field, value) in table(&path, fields)? {
                config.0.entry(field).or_insert(value);
            }
        }
        Ok(config)
    }

    /// Returns the value of a field.
    pub(super) fn value(&self, field: &str) -> Option<&Value> {
        self.0.get(field)
    }
}

/// Returns the nearest file in `folder` or a folder above it, up to the top of its work tree.
fn of_workspace(folder: &Path) -> Option<PathBuf> {
    for folder in folder.ancestors() {
        let path = folder.join(FILE);
        if path.symlink_metadata().is_ok() {
            return Some(path);
        }
        if folder.join(".git").symlink_metadata().is_ok() {
            return None;
        }
    }
    None
}

/// Returns the fields in a file; none if there is no file.
fn table(path: &Path, fields: &[&ProvenanceField]) -> Result<Map<String, Value>, ConfigError> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Map::new()),
        Err(source) => {
            let path = path.to_owned();
            return Err(ConfigError::Io { path, source });
        }
    };
    let file: toml::Table = toml::from_str(&text).map_err(|source| ConfigError::Toml {
        path: path.to_owned(),
        source: Box::new(source),
    })?;
    let wrong = |key: &str, what: String| ConfigError::Key {
        path: path.to_owned(),
        key: key.to_owned(),
        what,
    };
    let table = match file.get(TABLE) {
        None => return Ok(Map::new()),
        Some(toml::Value::Table(table)) => table,
        Some(_) => return Err(wrong(TABLE, "must be a table".into())),
    };
    let known = || {
        fields
            .iter()
            .filter(|field| field.from.contains(&ProvenancePlace::Config))
    };
    let mut found = Map::new();
    for (key, value) in table {
        let Some(field) = known().find(|field| field.name == key) else {
            let names: Vec<_> = known().map(|field| field.name).collect();
            return Err(wrong(
                key,
                format!("can't be configured; these can: {}", names.join(", ")),
            ));
        };
        let value: Value = match (field.kind, value) {
            (ProvenanceType::String, toml::Value::String(text)) => text.as_str().into(),
            (ProvenanceType::Integer, toml::Value::Integer(integer)) => (*integer).into(),
            (ProvenanceType::Boolean, toml::Value::Boolean(boolean)) => (*boolean).into(),
            (kind, other) => {
                return Err(wrong(
                    key,
                    format!(
                        "is of type `{}`; write a value of type `{kind}`",
                        other.type_str()
                    ),
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
