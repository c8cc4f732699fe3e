//! Hints for clients.

use serde::Deserialize;

/// MCP's tool annotations. All four are always sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub struct Annotations {
    /// True if the tool changes nothing.
    #[serde(rename = "readOnlyHint")]
    pub read_only: bool,
    /// True if the tool may remove or overwrite existing data.
    #[serde(rename = "destructiveHint")]
    pub destructive: bool,
    /// True if a repeated call has no further effect.
    #[serde(rename = "idempotentHint")]
    pub idempotent: bool,
    /// True if the tool reaches beyond the server's own data.
    #[serde(rename = "openWorldHint")]
    pub open_world: bool,
}

impl Annotations {
    /// No hint.
    pub const NONE: Self =
        Self { read_only: false, destructive: false, idempotent: false, open_world: false };

    /// Adds the hint that it changes nothing.
    pub const fn read_only(self) -> Self {
        Self { read_only: true, ..self }
    }

    /// Adds the hint that it may remove or overwrite.
    pub const fn destructive(self) -> Self {
        Self { destructive: true, ..self }
    }

    /// Adds the hint that a repeated call has no further effect.
    pub const fn idempotent(self) -> Self {
        Self { idempotent: true, ..self }
    }

    /// Adds the hint that it reaches beyond the server's own data.
    pub const fn open_world(self) -> Self {
        Self { open_world: true, ..self }
    }
}
