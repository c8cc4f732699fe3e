//! The names of files and folders in a throw-away library and beside it.

/// The document of a contract that is about one: `{document}` in a server's command, relative to `{library}`.
pub const DOCUMENT: &str = "notes/plan.md";
/// What lies around a library, in folders beside it.
pub(crate) const AROUND: [&str; 2] = ["outside", "library-evil"];
