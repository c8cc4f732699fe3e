//! State of the contract over one document.

use std::sync::Arc;

use tabellion_library::{Library, path::LibraryPath};

use super::{history_cache::HistoryCache, parsed::LastParsed};

/// The document, and the caches that its calls share.
pub(super) struct Editor {
    pub(super) path: LibraryPath,
    pub(super) library: Arc<Library>,
    pub(super) history_cache: HistoryCache,
    pub(super) last_parsed: LastParsed,
}
