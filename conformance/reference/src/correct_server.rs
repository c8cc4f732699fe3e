//! Correct servers: the reference, and the product's, one for each of its contracts and of three examples, which proxies stand before.

/// A correct server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CorrectServer {
    /// The reference implementation of `braindrive-markdown`.
    Reference,
    /// The product's server of `learning-os`.
    Memory,
    /// The product's server of `safe-markdown-editor`.
    Editor,
    /// The product's server of the example `desk`.
    Desk,
    /// The product's server of the example `tracker`.
    Tracker,
    /// The product's server of the example `bulletin`.
    Bulletin,
    /// The product's server of `mcb`.
    Mcb,
    /// The product's server of `brainforge`.
    Brainforge,
}

impl CorrectServer {
    /// All correct servers.
    pub const ALL: [Self; 8] = [
        Self::Reference,
        Self::Memory,
        Self::Editor,
        Self::Desk,
        Self::Tracker,
        Self::Bulletin,
        Self::Mcb,
        Self::Brainforge,
    ];

    /// Returns the checks and families that the server passes; empty means all.
    pub const fn passes(self) -> &'static [&'static str] {
        match self {
            Self::Reference => &[],
            Self::Desk => &["operations", "mutation/recorded"],
            Self::Tracker => &["operations", "rows", "orgs", "secrets"],
            Self::Bulletin => &["auth", "gates"],
            Self::Brainforge => &["review", "versions", "links", "notes", "export"],
            Self::Mcb => &["provenance", "modes", "errors", "memory", "index", "search", "vcs", "validate"],
            Self::Memory | Self::Editor => {
                &["append", "approval", "policy", "outline", "undo", "mutation/recorded"]
            }
        }
    }
}
