//! The state behind the tools, and the outcomes of their methods.

use std::sync::Arc;

use tabellion_contracts::mcb::ToolError;
use tabellion_runtime::{Rows, Staged, rows::RowError};
use tabellion_vcs::Workspaces;

use super::{code::Indexer, index::MemoryIndex};

/// A reading method's outcome.
pub(super) type Answer<T> = Result<T, ToolError>;
/// A mutating method's outcome.
pub(super) type Change<T> = Result<Staged<T, Rows>, ToolError>;

/// The implementation. The store has the rows.
pub(super) struct Memory {
    pub(super) index: Arc<dyn MemoryIndex>,
    pub(super) code: Indexer,
    pub(super) workspaces: Arc<Workspaces>,
}

/// Returns the contract's error for a refusal.
pub(super) fn refused(error: RowError) -> ToolError {
    error.into_failure("/data").into()
}
