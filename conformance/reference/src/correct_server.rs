//! Correct servers, one for each contract that the suite supports.

/// A correct server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CorrectServer {
    /// The reference implementation of `braindrive-markdown`.
    Reference,
    /// The product's server of `learning-os`, behind a proxy.
    Memory,
    /// The product's server of `safe-markdown-editor`, behind a proxy.
    Editor,
    /// The product's server of the example `desk`, behind a proxy.
    Desk,
    /// The small server of the example `tracker`.
    Tracker,
    /// The small server of the example `logbook`.
    Logbook,
    /// The small server of the example `bulletin`.
    Bulletin,
    /// The product's server of `mcb`, behind a proxy.
    Mcb,
    /// The product's server of `brainforge`, behind a proxy.
    Brainforge,
}

impl CorrectServer {
    /// All correct servers.
    pub const ALL: [Self; 9] = [
        Self::Reference,
        Self::Memory,
        Self::Editor,
        Self::Desk,
        Self::Tracker,
        Self::Logbook,
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
            Self::Logbook => &["operations", "provenance", "modes", "errors"],
            Self::Bulletin => &["auth", "gates"],
            Self::Brainforge => &["review", "versions", "links", "notes", "export"],
            Self::Mcb => &["memory", "index", "search", "vcs", "validate"],
            Self::Memory | Self::Editor => {
                &["append", "approval", "policy", "outline", "undo", "mutation/recorded"]
            }
        }
    }

    /// Returns true if the server can be served over HTTP.
    pub const fn is_over_http(self) -> bool {
        matches!(self, Self::Reference | Self::Bulletin)
    }

    /// Returns true if the server is a program of the product, which a proxy stands before.
    pub const fn is_behind_proxy(self) -> bool {
        matches!(self, Self::Memory | Self::Editor | Self::Desk | Self::Mcb | Self::Brainforge)
    }

    /// Returns true if the server keeps rows in a folder for data.
    pub const fn keeps_rows(self) -> bool {
        matches!(self, Self::Tracker | Self::Logbook)
    }
}
