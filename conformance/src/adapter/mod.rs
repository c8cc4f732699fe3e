//! How a server's tools are named and shaped where they are not the contract's.

use std::path::Path;

use serde_json::{Map, Value, json};
use tabellion_schemas::{ToolSpec, spec::Effect};

use crate::reply::{Done, Refusal, Reply};

/// From a contract's calls to a server's, and back.
#[derive(Debug, Clone, Default)]
pub enum Adapter {
    /// The server has the contract's tools as they are.
    #[default]
    Native,
}

impl Adapter {
    /// Whether the server has something for this tool, or for this effect of it.
    pub fn has(&self, _tool: &ToolSpec, _effect: Option<&Effect>) -> bool {
        match self {
            Self::Native => true,
        }
    }

    /// The parameters of the `tools/call` that makes this call; the library is at `root`.
    ///
    /// # Errors
    /// When the server has nothing for it; then it says so.
    pub fn call(&self, tool: &ToolSpec, arguments: &Value, _root: &Path) -> Result<Value, String> {
        match self {
            Self::Native => Ok(json!({ "name": tool.name, "arguments": arguments })),
        }
    }

    /// What the server's response says, in the contract's shape.
    pub fn reply(&self, _tool: &ToolSpec, message: &Value) -> Reply {
        match self {
            Self::Native => native(message),
        }
    }
}

/// A response of a server that has the contract's shapes.
fn native(message: &Value) -> Reply {
    if let Some(refusal) = Refusal::of(message) {
        return Reply::Refused(refusal);
    }
    let result = &message["result"];
    let meta = result["_meta"].as_object().cloned().unwrap_or_else(Map::new);
    Reply::Done(Done {
        response: result["structuredContent"].clone(),
        meta,
    })
}
