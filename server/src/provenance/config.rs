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
mod tests {
    use super::*;

    const fn field(
        name: &'static str,
        kind: ProvenanceType,
        from: &'static [ProvenancePlace],
    ) -> ProvenanceField {
        ProvenanceField {
            name,
            kind,
            keys: &[],
            headers: &[],
            from,
            discover: None,
            default: None,
        }
    }

    const CONFIG: &[ProvenancePlace] = &[ProvenancePlace::Config];
    static FIELDS: [ProvenanceField; 4] = [
        field("model_id", ProvenanceType::String, CONFIG),
        field("project_id", ProvenanceType::String, CONFIG),
        field("level", ProvenanceType::Integer, CONFIG),
        field("delegated", ProvenanceType::Boolean, &[]),
    ];

    /// Reads files of these texts, by path, from the workspace `work/tree/deep` and the server's folder `data`.
    fn read(files: &[(&str, &str)]) -> Result<Value, String> {
        let folder = tempfile::tempdir().expect("a folder");
        for path in ["work/tree/.git", "work/tree/deep", "data"] {
            fs::create_dir_all(folder.path().join(path)).expect("folders");
        }
        for (path, text) in files {
            fs::write(folder.path().join(path).join(FILE), text).expect("written");
        }
        let fields: Vec<_> = FIELDS.iter().collect();
        let config = Config::read(
            &folder.path().join("work/tree/deep"),
            &[folder.path().join("data")],
            &fields,
        );
        let root = folder.path().display().to_string();
        config
            .map(|config| Value::Object(config.0))
            .map_err(|error| error.to_string().replace(&root, ""))
    }

    #[test]
    fn the_workspaces_file_comes_before_the_servers() {
        for (files, expected) in [
            (&[][..], serde_json::json!({})),
            (
                &[("data", "[provenance]\nmodel_id = \"d\"\nlevel = 3")],
                serde_json::json!({ "model_id": "d", "level": 3 }),
            ),
            (
                &[
                    ("work/tree", "[git]\ndepth = 50\n[provenance]\nproject_id = \"t\""),
                    ("data", "[provenance]\nproject_id = \"d\"\nmodel_id = \"d\""),
                ],
                serde_json::json!({ "project_id": "t", "model_id": "d" }),
            ),
            (
                &[
                    ("work/tree/deep", "[git]"),
                    ("work/tree", "[provenance]\nproject_id = \"t\""),
                ],
                serde_json::json!({}),
            ),
            (
                &[("work", "[provenance]\nproject_id = \"outside\"")],
                serde_json::json!({}),
            ),
        ] {
            assert_eq!(read(files), Ok(expected), "{files:?}");
        }
    }

    #[test]
    fn a_wrong_configuration_is_refused_with_its_file() {
        for (text, expected) in [
            ("[provenance", "`/data/.mcp-context.toml` is not TOML: "),
            (
                "provenance = 3",
                "`provenance` in `[provenance]` of `/data/.mcp-context.toml` must be a table",
            ),
            (
                "[provenance]\nmodel = \"x\"",
                "`model` in `[provenance]` of `/data/.mcp-context.toml` can't be configured; these can: model_id, project_id, level",
            ),
            (
                "[provenance]\ndelegated = true",
                "`delegated` in `[provenance]` of `/data/.mcp-context.toml` can't be configured; these can: model_id, project_id, level",
            ),
            (
                "[provenance]\nmodel_id = 7",
                "`model_id` in `[provenance]` of `/data/.mcp-context.toml` is of type `integer`; write a value of type `string`",
            ),
        ] {
            let error = read(&[("data", text)]).expect_err(text);
            assert!(error.starts_with(expected), "{text}: {error}");
        }
    }
}
