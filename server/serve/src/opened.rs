//! The contents of one path of a server.

use std::{path::PathBuf, sync::Arc};

use tabellion_library::Library;
use tabellion_mcp::Adapter;
use tabellion_records::Records;
use tabellion_runtime::downloads::Downloads;

/// The contents of one path: contracts over a library, over rows, or over both.
pub(super) struct Opened {
    /// Name of the library, if it has one.
    pub(super) name: Option<String>,
    /// The folders that must exist.
    pub(super) folders: Vec<PathBuf>,
    pub(super) library: Option<Arc<Library>>,
    /// The place of the rows, if there are any: a folder, or the address of a database.
    pub(super) data: Option<PathBuf>,
    /// The rows, to be settled in the end.
    pub(super) rows: Vec<Arc<Records>>,
    pub(super) adapter: Adapter,
    /// The downloads over HTTP.
    pub(super) downloads: Option<Arc<dyn Downloads>>,
}
