//! Interface of an index of words: it returns the rows that match a text, within the filters, best first.
//!
//! The index is derived from the rows. An implementation updates itself to the newest change before it answers, so a call finds all rows
//! that an earlier call reported as stored.

use tabellion_runtime::{BoxFuture, Failure};

use super::{call::Call, entries::Selection};

/// An index of the rows of the memory.
pub(super) trait MemoryIndex: Send + Sync {
    /// Returns the rows that match, best first. Any text is a query.
    ///
    /// # Errors
    /// If the index can't be read, or can't be brought up to the newest change.
    fn search<'a>(&'a self, query: &'a MemoryQuery) -> BoxFuture<'a, Result<QueryResult, Failure>>;

    /// Announces that a call is about to change rows, and returns at once.
    fn expect(&self);
}

/// A query. Filters apply before the rows are ranked and cut.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct MemoryQuery {
    /// Key of the org: rows of other orgs are not found.
    pub(super) org: String,
    /// Name of the entity: `observation`, `error_pattern` or `session_summary`.
    pub(super) entity: &'static str,
    pub(super) text: String,
    /// The types that an observation can have; any, if empty.
    pub(super) types: Vec<String>,
    /// Tags, all of which a row must have.
    pub(super) tags: Vec<String>,
    pub(super) project_id: Option<String>,
    /// The repository.
    pub(super) repo_id: Option<String>,
    pub(super) session_id: Option<String>,
    /// The file of an observation.
    pub(super) file_path: Option<String>,
    /// The branch of an observation.
    pub(super) branch: Option<String>,
    /// Earliest time, in Unix seconds.
    pub(super) since: Option<i64>,
    /// Latest time, in Unix seconds.
    pub(super) until: Option<i64>,
    /// Lowest score.
    pub(super) min_score: f64,
    /// Maximum number of hits.
    pub(super) limit: u64,
}

/// Result of a query: ids of rows.
pub(super) type QueryResult = tabellion_retrieval::Hits;

impl MemoryQuery {
    /// Creates a query for the rows of a selection that match a text best.
    pub(super) fn new(call: &Call<'_>, selection: &Selection, text: String, limit: u64) -> Self {
        Self {
            org: call.org().into(),
            entity: selection.kind.entity(),
            text,
            types: selection.types(),
            tags: selection.tags.clone(),
            project_id: selection.project_id.clone(),
            repo_id: selection.repo_id.clone(),
            session_id: selection.session_id.clone(),
            limit,
            ..Self::default()
        }
    }
}

/// `_meta` key of an answer: the method of ranking.
pub(super) const RANKING: &str = "tabellion/ranking";

/// Returns the name of the method of ranking.
pub(super) fn ranking(by_meaning: bool) -> &'static str {
    if by_meaning { "hybrid" } else { "lexical" }
}
