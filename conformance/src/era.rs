//! The eras of MCP: protocol generations with and without sessions.

/// A protocol generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Era {
    /// Sessions that begin with `initialize`: 2025-11-25 and older.
    Session,
    /// Self-contained requests, with the negotiated parameters in `_meta`: 2026-07-28.
    Stateless,
}

impl Era {
    /// Both, the older one first.
    pub const ALL: [Self; 2] = [Self::Session, Self::Stateless];

    /// Returns the protocol revision that the suite speaks in this era.
    pub const fn revision(self) -> &'static str {
        match self {
            Self::Session => "2025-11-25",
            Self::Stateless => "2026-07-28",
        }
    }

    /// Returns the era of a revision.
    pub fn from_revision(revision: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|era| era.revision() == revision)
    }
}
