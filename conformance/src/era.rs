//! The eras of MCP: a protocol with sessions, and one without.

/// A way of speaking MCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Era {
    /// Sessions that begin with `initialize`: 2025-11-25 and older.
    Session,
    /// Every request by itself, with what was negotiated in its `_meta`: 2026-07-28.
    Stateless,
}

impl Era {
    /// Both, the older one first.
    pub const ALL: [Self; 2] = [Self::Session, Self::Stateless];

    /// The revision of the protocol that is spoken.
    pub const fn revision(self) -> &'static str {
        match self {
            Self::Session => "2025-11-25",
            Self::Stateless => "2026-07-28",
        }
    }

    /// The era in which `revision` is spoken.
    pub fn of(revision: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|era| era.revision() == revision)
    }
}
