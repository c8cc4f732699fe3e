//! Errors of edits of a configuration.

/// Error when editing a text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// It is not in its format.
    #[error("line {line}, column {column}: {message}")]
    Syntax {
        /// Line, from 1.
        line: usize,
        /// Column in characters, from 1.
        column: usize,
        /// The parser's message.
        message: String,
    },
    /// A value of a different kind is in the place of the servers.
    #[error("line {line}: {what} should be {expected}, but is {found}")]
    Kind {
        /// Line, from 1.
        line: usize,
        /// Name of the value.
        what: String,
        /// Expected kind.
        expected: &'static str,
        /// Actual kind.
        found: &'static str,
    },
    /// A key or a name appears twice, and clients differ in which they read.
    #[error("`{key}` appears twice, in lines {first} and {second}; remove one of them")]
    Twice {
        /// The key or name.
        key: String,
        /// Line of the first, from 1.
        first: usize,
        /// Line of the second, from 1.
        second: usize,
    },
    /// No splice leaves the rest unchanged.
    #[error(
        "its layout is too unusual for an edit that changes nothing else; edit it by hand (`--print` prints the entry)"
    )]
    Layout,
}
