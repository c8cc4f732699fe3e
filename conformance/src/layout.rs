//! Fixed names in a temporary library and next to it.

/// Path of a single-document contract's document, relative to `{library}`: `{document}` in a server's command.
pub const DOCUMENT: &str = "notes/plan.md";
/// Name of the folder next to a library for a server's rows: `{data}` in a server's command.
pub(crate) const DATA: &str = "data";
/// Name of the folder next to a library with source code to work on: `{workspace}` in a server's command.
pub(crate) const WORKSPACE: &str = "workspace";
/// Folder of a library that is the root of a server in the check `paths/inner-root`.
pub(crate) const INNER_ROOT: &str = "docs/library";
/// Names of the folders next to a library, which no server may touch.
pub(crate) const AROUND: [&str; 2] = ["outside", "library-evil"];
/// Content of the secret file in each of them.
pub(crate) const SECRET: &str = "canary: this must not be read\n";
