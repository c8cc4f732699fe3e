//! The content of one path of a server.

use std::{path::PathBuf, sync::Arc};

use super::hook::Hook;
use tabellion_mcp::streamable::Endpoint;
use tabellion_rest::Rest;
use tabellion_runtime::downloads::Downloads;

/// The content of one path: a library, rows, or both.
pub struct Mount {
    /// Name of the library; empty if it has none.
    pub name: String,
    /// The folders that must exist to answer calls.
    pub folders: Vec<PathBuf>,
    /// Returns true if the library, if any, is in its place, and the database, if any, answers. May block for some seconds.
    pub is_reachable: Arc<dyn Fn() -> bool + Send + Sync>,
    /// Returns the counts of the library.
    pub counts: Box<dyn Fn() -> LibraryCounts + Send + Sync>,
    /// The library's MCP endpoint.
    pub endpoint: Arc<Endpoint>,
    /// The library over REST, if one of its contracts declares endpoints.
    pub rest: Option<Arc<Rest>>,
    /// The downloads below its path, for clients with their URLs.
    pub downloads: Option<Arc<dyn Downloads>>,
    /// The webhook by which a forge reports that the library's branch has moved, if the library is shared through one.
    pub hook: Option<Hook>,
}

impl Mount {
    /// Returns `endpoint` over REST, if one of its contracts declares endpoints.
    pub fn rest(endpoint: &Endpoint) -> Option<Arc<Rest>> {
        let (gateway, intake) = (endpoint.gateway().clone(), endpoint.intake().clone());
        Rest::new(gateway, intake, endpoint.url().cloned()).map(Arc::new)
    }
}

/// Counts of a library since it was opened.
#[derive(Debug, Clone, Copy, Default)]
pub struct LibraryCounts {
    /// Published changes, each with a commit.
    pub commits: u64,
    /// Changes that were planned again because another change was published first.
    pub conflicts: u64,
    /// Interrupted changes that were completed or undone.
    pub recoveries: u64,
    /// Its traffic with its remote, if it is shared.
    pub remote: Option<RemoteCounts>,
}

/// The traffic of a library with its remote since it was opened.
#[derive(Debug, Clone, Copy, Default)]
pub struct RemoteCounts {
    /// Pushes that the remote accepted, refused, and did not answer.
    pub pushes: [u64; 3],
    /// Fetches with and without an answer.
    pub fetches: [u64; 2],
    /// Number of commits that the remote lacks.
    pub ahead: u64,
}
