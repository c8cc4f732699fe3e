//! The tool that reads the activity log.

use serde::Deserialize;

/// The tool that reads the activity log, and the layout of its entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct LogSpec {
    /// Name of the tool.
    pub tool: &'static str,
    /// JSON pointer to the list of entries in its response, oldest first.
    pub entries: &'static str,
    /// JSON pointer in an entry to the path that changed.
    pub path: &'static str,
    /// JSON pointer in an entry to the commit that changed it.
    pub commit: &'static str,
}
