//! Fixed names in a temporary library and beside it.

/// The document of a contract that is about one: `{document}` in a server's command, relative to `{library}`.
pub const DOCUMENT: &str = "notes/plan.md";
/// The folders beside a library, which no server may touch.
pub(crate) const AROUND: [&str; 2] = ["outside", "library-evil"];
