//! Hints for clients.

use serde::Deserialize;

/// MCP's tool annotations. All four are always sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Annotations {
    /// The tool changes nothing.
    #[serde(rename = "readOnlyHint")]
    pub read_only: bool,
    /// The tool may remove or overwrite what was there.
    #[serde(rename = "destructiveHint")]
    pub destructive: bool,
    /// The same call twice has the effect of one.
    #[serde(rename = "idempotentHint")]
    pub idempotent: bool,
    /// The tool reaches beyond the server's own data.
    #[serde(rename = "openWorldHint")]
    pub open_world: bool,
}
