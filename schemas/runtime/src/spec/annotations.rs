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

impl Annotations {
    /// No hint.
    pub const NONE: Self = Self {
        read_only: false,
        destructive: false,
        idempotent: false,
        open_world: false,
    };

    /// Adds the hint that it changes nothing.
    pub const fn read_only(self) -> Self {
        Self {
            read_only: true,
            ..self
        }
    }

    /// Adds the hint that it may remove or overwrite.
    pub const fn destructive(self) -> Self {
        Self {
            destructive: true,
            ..self
        }
    }

    /// Adds the hint that two calls have the effect of one.
    pub const fn idempotent(self) -> Self {
        Self {
            idempotent: true,
            ..self
        }
    }

    /// Adds the hint that it reaches beyond the server's own data.
    pub const fn open_world(self) -> Self {
        Self {
            open_world: true,
            ..self
        }
    }
}
