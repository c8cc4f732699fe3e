//! Places that use symbols.

/// Upper bound of the dependents that are listed for a file.
pub const MAX_DEPENDENTS: usize = 100;

/// A place that uses a symbol: the first such use within its enclosing symbol.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Dependent {
    /// Path of the file.
    pub path: String,
    /// Line of the use, from 1.
    pub line: usize,
    /// The symbol that contains the use; empty outside of all symbols.
    pub symbol: String,
}
