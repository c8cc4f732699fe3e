//! State of the contract over one document.

use std::sync::Arc;

use tabellion_contracts::safe_markdown_editor::ToolError;
use tabellion_library::{Library, path::LibraryPath};
use tabellion_runtime::Staged;

use super::{history_cache::HistoryCache, parsed::LastParsed};

/// A reading method's outcome.
pub(super) type Answer<T> = Result<T, ToolError>;
/// A mutating method's outcome.
pub(super) type Change<T> = Result<Staged<T>, ToolError>;

/// The document, and the caches that its calls share.
pub(super) struct Editor {
    pub(super) path: LibraryPath,
    pub(super) library: Arc<Library>,
    pub(super) history_cache: HistoryCache,
    pub(super) last_parsed: LastParsed,
}
