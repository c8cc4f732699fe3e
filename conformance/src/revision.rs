//! The official message schemas of MCP's revisions, as the specification publishes them.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use jsonschema::Validator;
use serde_json::{Value, json};

/// Environment variable that names the folder with the schemas (`<revision>.json`).
pub const SCHEMAS: &str = "TABELLION_MCP_SCHEMAS";

/// What every message of one revision must look like.
#[derive(Debug)]
pub struct Revision {
    message: Validator,
    document: Value,
}

impl Revision {
    /// Reads the schema of `revision`, say `2025-11-25`, from `folder`.
    ///
    /// # Errors
    /// When it can't be read or is not a schema.
    pub fn load(folder: &Path, revision: &str) -> io::Result<Self> {
        let document: Value = serde_json::from_slice(&fs::read(folder.join(format!("{revision}.json")))?)?;
        let message = definition(&document, "JSONRPCMessage")?;
        Ok(Self { message, document })
    }

    /// Checks a whole message.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn check(&self, message: &Value) -> Result<(), String> {
        self.message
            .validate(message)
            .map_err(|error| format!("{}: {error}", error.instance_path()))
    }

    /// Checks a result against the definition that the revision has under `name`, say `CallToolResult`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn check_as(&self, name: &str, value: &Value) -> Result<(), String> {
        let validator = definition(&self.document, name).map_err(|error| error.to_string())?;
        validator
            .validate(value)
            .map_err(|error| format!("{}: {error}", error.instance_path()))
    }
}

/// The folder of [`SCHEMAS`], else the nearest `shared/data/mcp-schema` beside or above `start`.
pub fn folder(start: &Path) -> Option<PathBuf> {
    let named = std::env::var_os(SCHEMAS).map(PathBuf::from);
    named.or_else(|| {
        start
            .ancestors()
            .map(|dir| dir.join("shared/data/mcp-schema"))
            .find(|dir| dir.is_dir())
    })
}

fn definition(document: &Value, name: &str) -> io::Result<Validator> {
    let key = if document.get("$defs").is_some() {
        "$defs"
    } else {
        "definitions"
    };
    let schema = json!({
        "$schema": document["$schema"],
        "$ref": format!("#/{key}/{name}"),
        key: document[key],
    });
    jsonschema::validator_for(&schema).map_err(|error| io::Error::other(error.to_string()))
}
